"""The shell of a node: it sleeps without work, remembers its port, and counts its boots."""

import asyncio
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from mesh.config import load
from mesh.errors import BadConfig, BindRefused, StoreError
from mesh.operations import Stored
from mesh.shell.driver import Driver
from mesh.shell.starting import start
from tests.mesh.meshes import eventually, mesh_of, take
from tests.mesh.running import environment, running, state_directory


def test_an_idle_mesh_sleeps() -> None:
    async def scenario() -> None:
        async with mesh_of("a", "b", "c") as m:
            # After the login and the introductions, the next deadline is a probe, and no loop is busy.
            def all_sleep() -> bool:
                return all(node.core.alarm - time.monotonic() > 0.1 for node in m.nodes.values())

            await eventually(all_sleep)

    asyncio.run(scenario())


def test_a_node_that_takes_any_port_takes_the_same_one_next_time() -> None:
    async def begin() -> tuple[list[str], int]:
        node = await start(load(None, {}, {"node.id": "a"}), environ)
        described = node.described()
        await node.close()
        return described["tcp"], described["boot"]

    with state_directory() as state:
        environ = environment(state)
        first, second = asyncio.run(begin()), asyncio.run(begin())
        assert first[0] == second[0]
        assert (first[1], second[1]) == (1, 2)


def test_a_node_that_is_told_to_stop_ends_without_an_error() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m, m.connect("a") as ma:
            await ma.call("down")
            await eventually(m.nodes["a"].driver.stopping.is_set)
            assert m.nodes["a"].driver.why is None

    asyncio.run(scenario())


def test_what_is_asked_right_after_the_start_waits_for_those_it_was_told_of() -> None:
    async def scenario() -> None:
        async with mesh_of("a", "b") as m, m.connect("a") as ma:
            await ma.publish("k", b"v")
            a = m.nodes["a"]
            given = {
                "node.id": "c",
                "node.peers": a.described()["tcp"],
                "node.cluster": a.core.parts.status.node_info().cluster,
            }
            c = await start(load(None, {}, given), m.environ)
            try:
                async with m.connect("c") as mc, mc.subscribe("k") as sub:
                    assert m.metric("a", "upstream_queries") == m.metric("b", "upstream_queries") == 1
                    assert [x.content for x in await take(sub, 1)] == [b"v"]
            finally:
                await c.close()

    asyncio.run(scenario())


def test_a_node_whose_seed_is_away_waits_for_it_only_for_a_moment() -> None:
    async def scenario() -> None:
        async with mesh_of("a", settings={"node.peers": ["tcp://127.0.0.1:1"]}) as m, m.connect("a") as ma:
            async with ma.subscribe("k") as sub:
                await ma.publish("k", b"v")
                assert [x.content for x in await take(sub, 1)] == [b"v"]

    asyncio.run(scenario())


def test_a_node_that_says_goodbye_has_left_at_once() -> None:
    async def scenario() -> None:
        async with mesh_of("a", "b") as m, m.connect("a") as ma:
            b = m.nodes["b"]
            await eventually(lambda: any(conn.is_open for conn in b.core._conns.values()))  # for the goodbye
            await b.close()

            async def has_left() -> bool:
                states = {row["name"]: row["state"] for row in (await ma.call("ls"))["nodes"]}
                return bool(states["b"] == "left")

            await eventually(has_left)

    asyncio.run(scenario())


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["publisher", "subscriber"])
def test_what_was_answered_survives_kill_9_of_a_node(victim: str) -> None:
    with running("a") as a, running("b", beside=a) as b:
        node = a if victim == "publisher" else b

        async def scenario() -> None:
            import mesh

            loop = asyncio.get_running_loop()
            async with (
                mesh.connect("a", environ=a.environ) as ma,
                mesh.connect("b", environ=b.environ) as mb,
                mb.subscribe("k") as sub,
            ):
                reader = asyncio.create_task(take(sub, 2000))
                writer = asyncio.create_task(
                    ma.publish_many("k", (b"%d" % i for i in range(1000)), persistent=True)
                )
                await loop.run_in_executor(None, node.kill)
                await loop.run_in_executor(None, node.start)
                await writer
                await ma.publish_many("k", (b"%d" % i for i in range(1000, 2000)), persistent=True)
                messages = await reader
            assert [int(message.content) for message in messages] == list(range(2000))

        asyncio.run(scenario())


def test_a_node_that_cannot_start_does_not_stumble_over_snapshots_that_it_cannot_write(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("mine")
    with state_directory() as state, socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        given = {
            "node.id": "a",
            "node.bind": [f"tcp://127.0.0.1:{port}"],
            "snapshots.dir": f"{tmp_path}/file",
        }
        with pytest.raises(BindRefused):
            asyncio.run(start(load(None, {}, given), environment(state)))
    [record] = caplog.records
    assert (record.levelname, record.name) == ("WARNING", "mesh.node")
    assert record.getMessage().startswith("Snapshots cannot be written to ")


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_node_starts_and_works_wherever_its_snapshots_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "file").write_text("mine")
    monkeypatch.chdir(tmp_path)

    async def scenario() -> None:
        async with mesh_of("a", settings={"snapshots.dir": place}) as m, m.connect("a") as ma:

            def told() -> list[str]:
                events = m.nodes["a"].core.parts.context.events.events_after(0)[0]
                return [event.text for event in events if event.kind == "snapshots"]

            await eventually(told)
            assert len(told()) == 1 and told()[0].startswith("Snapshots cannot be written to ")
            await ma.publish("k", b"v")
            assert [x.content for x in await ma.get("k")] == [b"v"]

    asyncio.run(scenario())


def test_without_snapshots_nothing_is_written_and_no_thread_is_there_for_it() -> None:
    async def scenario() -> None:
        async with mesh_of("a", "b", settings={"snapshots.enabled": False}) as m:
            await eventually(
                lambda: m.nodes["a"].core.parts.gossiping.gossip.known
            )  # gives the log something to record
            assert "mesh-snapshots" not in {thread.name for thread in threading.enumerate()}
            info = m.nodes["a"].core.parts.status.node_info()
            assert info.snapshots == {} and "snapshots" not in os.listdir(info.data)

    asyncio.run(scenario())


@pytest.mark.parametrize("setting", ["node.data", "snapshots.dir"])
@pytest.mark.parametrize("path", ["~nobody-of-that-name/snapshots", "a\0b"])
def test_a_directory_that_cannot_be_is_a_wrong_setting(setting: str, path: str) -> None:
    with state_directory() as state, pytest.raises(BadConfig, match=f"^{setting} = "):
        asyncio.run(start(load(None, {}, {"node.id": "a", setting: path}), environment(state)))


def test_what_stands_in_the_store_is_read_in_its_thread_and_told_to_the_core() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m, m.connect("a") as ma:
            await ma.send("client/joe/session/1", b"later", force_queuing=True, persistent=True)
            core, found = m.nodes["a"].core, list[Any]()
            position = core.parts.router.shelf.next_position - 1
            core.parts.disk.fetch([position, position + 1], found.append)
            m.nodes["a"].driver.idle()
            await eventually(lambda: bool(found))
            assert {place: each.contents() for place, each in found[0].items()} == {position: [b"later"]}

    asyncio.run(scenario())


def test_a_store_that_cannot_be_read_is_the_end_of_its_node() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m:
            node, found = m.nodes["a"], list[Any]()
            failure = StoreError("damaged", code="DATA_LOSS")

            def fails(positions: object) -> list[Stored]:
                raise failure

            node.world._workers[""]._store.read = fails  # type: ignore[method-assign]
            node.core.parts.disk.fetch([1], found.append)
            node.driver.idle()
            await eventually(node.driver.stopping.is_set)
            assert found == [failure]
            assert node.driver.why is not None and node.driver.why.code == "DATA_LOSS"
            node.driver.why = None  # lets it end as usual

    asyncio.run(scenario())


def test_the_stores_thread_begins_when_the_core_has_taken_up_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then the store is read in the thread of the core."""
    seen: list[int | None] = []
    begin = Driver.begin

    def noted(driver: Driver, *what: Any) -> None:
        seen.append(driver.world._workers[""]._thread.ident)
        begin(driver, *what)
        seen.append(driver.world._workers[""]._thread.ident)

    async def scenario() -> None:
        async with mesh_of("a"):
            pass

    monkeypatch.setattr(Driver, "begin", noted)
    asyncio.run(scenario())
    before, after = seen
    assert before is None and after is not None
