"""Backup masters on real nodes: a master is killed, read and written through its backup, and merged."""

import asyncio
from pathlib import Path

import pytest

from tests.mesh.meshes import eventually
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.mesh.scenarios.lan import Lan, lan_of
from tests.mesh.scenarios.topology import TREE, processes_of

ORDERS = "ORDERS"
MASTER = """
[nodes.{name}]
{address}
[[nodes.{name}.master]]
domains = ["ORDERS"]
{backup}
"""
QUICK = "[timing]\nping = 0.3\nbackoff_max = 0.5\n"


def section(name: str, *, backup: bool, is_up: bool) -> str:
    address = f'address = "{{{name}}}"' if is_up else ""
    return MASTER.format(name=name, address=address, backup="backup = true" if backup else "")


def file(*up: str) -> str:
    """Return the file of a node that starts after the nodes `up`."""
    backup = section("frodo", backup=True, is_up="frodo" in up)
    return TREE + QUICK + section("heron", backup=False, is_up="heron" in up) + backup


FILES = {"heron": file(), "frodo": file("heron"), "bilbo": file("heron", "frodo")}


@pytest.mark.smoke
@pytest.mark.slow
def test_a_master_is_killed_and_read_and_written_through_its_backup_and_has_all_when_it_is_back() -> None:
    async def scenario() -> None:
        with processes_of(FILES) as c:
            async with c.connect("bilbo", client="b") as b, c.connect("frodo", client="f") as f:
                async with hearing(b, "o/1", ORDERS) as ear, hearing(f, "o/1", ORDERS) as other:
                    await b.publish("o/0", b"before", domain=ORDERS, persistent=True)
                    wanted = [b"%d" % n for n in range(100)]
                    for content in wanted[:20]:
                        await b.publish("o/1", content, domain=ORDERS, persistent=True)
                    await ear.heard(20)
                    await asyncio.to_thread(c["heron"].kill)
                    for content in wanted[20:60]:
                        await b.publish("o/1", content, domain=ORDERS, persistent=True)

                    async def stands_in() -> bool:
                        published = await b.publish("o/2", b"2", domain=ORDERS, persistent=True)
                        return published.note == "at frodo, because heron cannot be reached"

                    await eventually(stands_in)
                    await ear.heard(60)
                    [before] = await b.get("o/0", domain=ORDERS)
                    assert (before.content, before.source) == (b"before", "frodo")
                    assert before.stale is not None and before.stale >= 0
                    [now] = await b.get("o/1", domain=ORDERS)
                    assert (now.content, now.stale) == (wanted[59], None)
                    assert await b.erase("o/0", domain=ORDERS) == ["o/0"]

                    await asyncio.to_thread(c["heron"].start)
                    await asyncio.to_thread(c.met)
                    for content in wanted[60:]:
                        await b.publish("o/1", content, domain=ORDERS, persistent=True)
                    await ear.heard(100)
                    await other.heard(100)
                    assert sorted(ear.contents, key=int) == sorted(other.contents, key=int) == wanted
                    async with c.connect("heron", client="h") as h:

                        async def has_all() -> bool:
                            found = await h.get(pattern="#", domain=ORDERS)
                            values = sorted((m.key, m.content) for m in found if not m.key.endswith("/end"))
                            return values == [("o/1", wanted[99]), ("o/2", b"2")]

                        await eventually(has_all)
                        [last] = await h.get("o/1", domain=ORDERS)
                        assert last.source == "heron"

    asyncio.run(scenario())


CUT = QUICK + section("n1", backup=False, is_up=False) + section("n2", backup=True, is_up=False)


async def values_at(lan: Lan, host: int) -> list[tuple[str, bytes]]:
    async with lan.nodes[host].connect() as m:
        found = await m.get(pattern="#", domain=ORDERS, fresh=True)
    return sorted((m.key, m.content) for m in found if not m.key.endswith("/end"))


@pytest.mark.slow
def test_a_mesh_that_is_cut_in_two_is_written_on_both_sides_and_nothing_is_lost_when_it_is_merged() -> None:
    """n1 is the master and n2 its backup. The cut separates n1 from n2 and n3."""

    async def scenario() -> None:
        async with lan_of(3) as lan:
            for node in lan.nodes.values():
                home = Path(node.environ["XDG_CONFIG_HOME"]) / "mesh"
                home.mkdir(exist_ok=True)
                (home / "mesh.toml").write_text(CUT)
            await lan.start(1, 2, 3)
            await lan.all_alive()
            async with lan.nodes[1].connect() as near, lan.nodes[3].connect() as far:
                async with hearing(near, "o/1", ORDERS) as ear, hearing(far, "o/1", ORDERS) as other:
                    lan.lab.split([1], [2, 3])
                    await lan.becomes({2: "dead", 3: "dead"}, at=1)
                    await lan.becomes({1: "dead", 2: "alive"}, at=3)
                    sent = []
                    for n in range(40):
                        for client, side in ((near, "at the master"), (far, "beyond the cut")):
                            sent.append(f"{n} {side}".encode())
                            said = await client.publish("o/1", sent[-1], domain=ORDERS, persistent=True)
                            assert (await client.final(said)).state == "OK"
                    await other.heard(40)
                    assert all(content.endswith(b"beyond the cut") for content in other.contents)
                    lan.lab.join()
                    await lan.all_alive()
                    await ear.heard(80)
                    await other.heard(80)
                    await nothing_more(near, ear, other, domain=ORDERS)
                    assert sorted(ear.contents) == sorted(other.contents) == sorted(sent)

            async def all_have_the_same() -> bool:
                return len({tuple(await values_at(lan, host)) for host in (1, 2, 3)}) == 1

            await eventually(all_have_the_same)
            assert [key for key, _ in await values_at(lan, 1)] == ["o/1"]

    asyncio.run(scenario())
