"""A36: what do two masters of one domain do, and what when one of them is killed? On real nodes."""

import asyncio
from collections import Counter

import pytest

from mesh.errors import PublishRefused
from tests.mesh.meshes import eventually
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.mesh.scenarios.topology import RUGBY, TREE, loop_of, processes_of

MASTER = """
[nodes.{name}]
{address}
[[nodes.{name}.master]]
domains = ["RUGBY_NEWS"]
"""
QUICK = "[timing]\nping = 0.5\nbackoff_max = 0.5\n"


def master(name: str, is_up: bool = True) -> str:
    """A section of a file; nodes that started before have an address."""
    return MASTER.format(name=name, address=f'address = "{{{name}}}"' if is_up else "")


# frodo is a slave of both, and bilbo's way to them.
FILES = {
    "heron": TREE + QUICK + master("heron", False) + master("avalon", False),
    "avalon": TREE + QUICK + master("avalon", False) + master("heron"),
    "frodo": TREE + QUICK + master("heron") + master("avalon"),
    "bilbo": f"""{TREE}{QUICK}
[nodes.frodo]
address = "{{frodo}}"
[[nodes.frodo.master]]
domains = ["RUGBY_NEWS"]
stratum = 1
""",
}


@pytest.mark.parametrize("node", ["frodo", "bilbo", "avalon"])
def test_A36_a_publish_reaches_both_once_and_ten_gets_are_served_by_both_in_turn(node: str) -> None:
    async def story() -> None:
        async with loop_of(FILES) as c:
            async with (
                c.connect(node) as m,
                c.connect("heron") as h,
                c.connect("avalon") as a,
                hearing(h, "K", RUGBY) as one,
                hearing(a, "K", RUGBY) as other,
                hearing(m, "K", RUGBY) as ear,
            ):
                assert (await m.publish("K", b"We win", domain=RUGBY)).state == "OK"
                await nothing_more(m, one, other, ear, domain=RUGBY)
                assert one.contents == other.contents == ear.contents == [b"We win"]
                for client, name in ((h, "heron"), (a, "avalon")):
                    [message] = await client.get("K", domain=RUGBY)
                    assert (message.content, message.source) == (b"We win", name)
                if node != "avalon":  # a master reads what it has itself
                    gets = [await m.get("K", domain=RUGBY, fresh=True) for _ in range(10)]
                    assert Counter(found.source for [found] in gets) == {"heron": 5, "avalon": 5}

    asyncio.run(story())


def test_while_one_master_is_killed_nothing_is_lost_doubled_or_late() -> None:
    with processes_of(FILES) as c:

        async def story() -> None:
            async with c.connect("bilbo") as b, c.connect("bilbo", client="ear") as e:
                async with hearing(e, "K", RUGBY) as ear:
                    assert (await b.publish("K", b"0", domain=RUGBY, persistent=True)).ok
                    c["avalon"].kill()
                    later = [
                        await b.publish("K", b"%d" % n, domain=RUGBY, persistent=True) for n in (1, 2, 3)
                    ]
                    assert {each.state for each in later} == {"FORWARD_WARNING"}
                    assert all("waits at frodo for avalon" in each.note for each in later)
                    await ear.heard(4)  # heron brings them
                    c.start("avalon", FILES["avalon"])
                    assert {(await b.final(each)).state for each in later} == {"OK"}
                    await nothing_more(b, ear, domain=RUGBY)
                    assert ear.contents == [b"0", b"1", b"2", b"3"]
            async with c.connect("avalon") as a:
                assert [m.content for m in await a.get("K", domain=RUGBY)] == [b"3"]

        asyncio.run(story())


def test_what_waits_too_long_for_one_of_them_says_who_has_it() -> None:
    files = {**FILES, "frodo": FILES["frodo"] + "[limits]\ntailback_ttl = 1\n"}

    async def story() -> None:
        async with loop_of(files) as c:
            async with c.connect("frodo") as f:
                await c.stop("avalon")
                await eventually(lambda: not c.nodes["frodo"].core.parts.nodes.is_alive("avalon"))
                published = await f.publish("K", b"We win", domain=RUGBY)
                assert (published.state, published.note) == (
                    "FORWARD_WARNING",
                    "waits at frodo for avalon (away)",
                )
                with pytest.raises(PublishRefused, match="heron took it, but avalon refused it") as refused:
                    await f.final(published)
                assert refused.value.code == "PARTLY_REFUSED"
                await eventually(lambda: c.metric("frodo", "dead") == 1)

    asyncio.run(story())
