"""A node whose core raises an unexpected error: it ends with a code, and only once for the same message."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import mesh
from mesh.cli.main import CRASHED
from mesh.client.client import Client
from mesh.config import Config, load
from mesh.errors import CoreFailed, MeshError, PublishRefused
from mesh.kernel.context.dispatch_tables import FactTable
from mesh.kernel.context.fact_queue import FactQueue
from mesh.kernel.node import NodeCore
from mesh.kernel.peers.facts import PeerJoined
from mesh.kernel.reception import Reception
from mesh.shell.driver import FAILED, NO_MESSAGE, Driver
from mesh.shell.node import NodeRuntime
from mesh.shell.poison import FILE, KEPT, Guilt, Poison
from mesh.shell.starting import start
from mesh.shell.world import World
from tests.mesh.meshes import LIMIT, eventually
from tests.mesh.running import RunningNode, environment, state_directory

BAD = b"a poisonous one"


class Fault(Exception):
    """A programming error in the core."""


class Core:
    """A core that raises where `fails` returns true, and that records the names of its calls."""

    def __init__(self, fails: Callable[[str, Any], bool]) -> None:
        self.fails, self.asked = fails, list[str]()
        self.alarm = 1e9
        context = SimpleNamespace(count=lambda what: None)
        self.parts = SimpleNamespace(context=context, disk=SimpleNamespace(storing=True))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            self.asked.append(name)
            if self.fails(name, args):
                raise Fault("half of it is done")
            return [] if name == "take_effects" else "joe"

        return call


def driver(core: Core, place: Path) -> tuple[Driver, list[str]]:
    """Return a driver of `core`, and the list of the last texts of its world."""
    said: list[str] = []
    world = SimpleNamespace(carry_out=None, last_words=lambda kind, text: said.append(text))
    loop = asyncio.get_running_loop()
    made = Driver(loop, Poison(place), lambda _: cast(World, world), lambda _: cast(NodeCore, core))
    return made, said


HAPPENS: dict[str, Callable[[Driver], object]] = {
    "add_inbound": lambda d: d.on_connected("key", "tcp://x", False, ""),
    "receive": lambda d: d.received("key", [BAD]),
    "disconnected": lambda d: d.on_disconnected("key"),
    "gossiped": lambda d: d.on_gossip([BAD]),
    "on_dial_failed": lambda d: d.nowhere("key", "no such host"),
    "on_inbound_closed": lambda d: d.on_inbound_closed(),
    "knocked": lambda d: d.knocked(b"u", True),
    "advertised": lambda d: d.events.advertised(cast(Any, None)),
    "on_foreign_mesh": lambda d: d.events.on_foreign_mesh("a", "tcp://x"),
    "readdressed": lambda d: d.events.readdressed(("tcp://x",)),
    "report_event": lambda d: d.events.report_event("settings", "text"),
    "stored": lambda d: d.stores._stored([7], None),
    "lagged": lambda d: d._tick(),  # its tick was due long ago
    "tick": lambda d: d._tick_now(),
    "take_effects": lambda d: d._turn(),
    "goodbye": lambda d: d.goodbye(),
}


@pytest.mark.parametrize("what", HAPPENS)
def test_whatever_a_core_fails_at_it_is_asked_nothing_more(
    what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        core = Core(lambda name, args: name == what)
        made, said = driver(core, tmp_path)
        HAPPENS[what](made)
        assert made.stopping.is_set() and isinstance(made.why, CoreFailed) and made.why.code == "CORE_FAILED"
        assert core.asked[-1] == what and "half of it is done" in str(made.why) and said == [str(made.why)]
        asked = list(core.asked)
        for happens in HAPPENS.values():
            happens(made)
        await asyncio.wait_for(made.stores.all_stored(), LIMIT)
        await asyncio.sleep(0)
        assert core.asked == asked
        is_known = Poison(tmp_path).verdict([BAD]) is Guilt.GUILTY
        assert is_known == (what in ("receive", "gossiped")) and Poison(tmp_path).why == str(made.why)

    asyncio.run(scenario())
    assert any("Traceback" in record.getMessage() for record in caplog.records)


def test_of_several_messages_that_may_have_done_it_the_guilty_one_is_found(tmp_path: Path) -> None:
    """The core fails in `take_effects`, after it has received `bad`."""

    async def life(messages: list[bytes], bad: bytes = BAD) -> list[str]:
        has_come: list[bytes] = []

        def fails(name: str, args: Any) -> bool:
            if name == "receive":
                has_come.append(args[1][0])
            return name == "take_effects" and bad in has_come

        core = Core(fails)
        made, _ = driver(core, tmp_path)
        for message in messages:
            made.received("key", [message])
        made._turn()
        return core.asked if made.why is None else []

    good = [b"one", b"another", b"three"]
    assert asyncio.run(life([*good, BAD])) == []
    assert all(Poison(tmp_path).verdict([each]) is Guilt.SUSPECT for each in (*good, BAD))
    assert asyncio.run(life([b"new", *good], bad=b"new")) == []  # earlier messages are not suspects
    assert all(Poison(tmp_path).verdict([each]) is Guilt.SUSPECT for each in (*good, BAD))
    assert asyncio.run(life([*good, BAD])) == []  # each was received alone
    assert Poison(tmp_path).verdict([BAD]) is Guilt.GUILTY
    assert all(Poison(tmp_path).verdict([each]) is Guilt.CLEAN for each in good)
    asked = asyncio.run(life([*good, BAD]))
    assert asked.count("receive") == 3 and asked.count("poisoned") == 1


def test_a_message_alone_in_its_turn_is_guilty_at_once_and_not_with_something_else(tmp_path: Path) -> None:
    async def scenario(alone: bool) -> Guilt:
        place = tmp_path / str(alone)
        os.mkdir(place)
        made, _ = driver(Core(lambda name, args: name == "take_effects"), place)
        made.received("key", [BAD])
        if not alone:
            made.on_disconnected("other")
        made._turn()
        return Poison(place).verdict([BAD])

    assert asyncio.run(scenario(True)) is Guilt.GUILTY
    assert asyncio.run(scenario(False)) is Guilt.SUSPECT
    assert NO_MESSAGE == []


def test_memory_that_is_refused_ends_the_process_as_ever(tmp_path: Path) -> None:
    """The process ends with the handler of mesh.shell.memory."""

    class Empty(Core):
        def receive(self, *args: Any) -> None:
            raise MemoryError

    async def scenario() -> None:
        made, _ = driver(Empty(lambda name, args: False), tmp_path)
        with pytest.raises(MemoryError):
            made.received("key", [BAD])

    asyncio.run(scenario())


@pytest.fixture
def state() -> Iterator[Path]:
    with state_directory() as found:
        yield found


def config(store: str = "sqlite") -> Config:
    given = {"node.id": "a", "node.store": store, "node.cluster": "failing", "discovery.mdns": False}
    return load(None, {}, given)


async def ended(node: NodeRuntime, then: Callable[[], Any]) -> MeshError:
    """Return the error with which the node ends."""
    running = asyncio.create_task(node.run())
    await then()
    with pytest.raises(MeshError) as error:
        await asyncio.wait_for(running, LIMIT)
    await node.close()
    return error.value


def events(state: Path) -> list[tuple[str, str]]:
    """Return the kind and the text of all events on disk."""
    lines = [
        json.loads(line)
        for path in (state / "data" / "a" / "snapshots").rglob("*.jsonl*")
        for line in path.read_text().splitlines()
    ]
    lines.sort(key=lambda line: (line["observer_boot"], line["line"]))
    assert len({(line["observer_boot"], line["line"]) for line in lines}) == len(lines)
    return [(line["event"], line["text"]) for line in lines if line["kind"] == "event"]


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_a_fault_in_a_verb_ends_the_node_and_then_only_the_connection_of_who_asks_again(
    state: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    environ = environment(state)
    take = Reception.dispatch

    def faulty(self: Reception, conn: Any, command: Any, envelopes: Any) -> None:
        take(self, conn, command, envelopes)
        if any(BAD in envelope.body for envelope in envelopes):
            raise Fault("half of it is done")

    async def scenario() -> None:
        node = await start(config(store), environ)
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(mesh.connect("a", environ=environ, timeout=LIMIT))
            other = await stack.enter_async_context(mesh.connect("a", environ=environ, timeout=LIMIT))
            with monkeypatch.context() as patched:
                patched.setattr(Reception, "dispatch", faulty)
                publishing: list[asyncio.Task[Any]] = []

                async def publish() -> None:
                    publishing.append(asyncio.create_task(client.publish("k", BAD, persistent=True)))

                error = await ended(node, publish)
                assert isinstance(error, CoreFailed) and "Fault('half of it is done')" in error.what
                again = await start(config(store), environ)
                stack.push_async_callback(again.close)
                with pytest.raises(PublishRefused) as refused:
                    await asyncio.wait_for(publishing[0], LIMIT)
                assert refused.value.code == "POISONED" and again.driver.why is None
                assert (await client.publish("k", b"a good one", persistent=True)).ok
                assert (await other.publish("k", b"another", persistent=True)).ok
                assert [message.content for message in await other.get("k")] == [b"another"]
            told = [e.text for e in again.core.parts.context.events.events_after(0)[0] if e.kind == "failed"]
            assert len(told) == 1 and error.what in told[0]
            assert [e for e in again.core.parts.context.events.events_after(0)[0] if e.kind == "poisoned"]
        assert Poison(state / "data" / "a").why == ""

    asyncio.run(scenario())
    kinds = [kind for kind, _ in events(state)]
    assert kinds[:3] == ["started", "failed", "started"] and "stopped" not in kinds[:3]
    assert "Fault('half of it is done')" in dict(events(state)[:2])["failed"]


def test_what_hears_a_fact_ends_the_node_over_the_message_that_brought_it(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node does not blame the next message."""
    hear = FactQueue.dispatch
    seen: list[bytes] = []
    unheard: list[bytes] = []

    def faulty(self: FactQueue, handlers: FactTable) -> None:
        if any(isinstance(fact, PeerJoined) for fact in self.queue):
            raise Fault
        hear(self, handlers)

    received = Driver.received

    def noted(self: Driver, key: Any, frames: list[bytes]) -> None:
        received(self, key, frames)
        if self.why is None and self.core.parts.context.facts.queue:
            unheard.extend(frames)
        if self.why is not None and not seen:
            seen.append(b"".join(frames))
            assert self._poison.verdict(frames) is Guilt.CLEAN  # only the next process knows it
            assert Poison(state / "data" / "a").verdict(frames) is Guilt.GUILTY

    async def scenario() -> None:
        environ = environment(state)
        node = await start(config(), environ)
        given = {"node.id": "b", "node.cluster": "failing", "node.peers": node.described()["tcp"]}
        other = await start(load(None, {}, {**given, "discovery.mdns": False}), environ)
        await eventually(lambda: seen or other.driver.why)
        failed = node if node.driver.why else other
        assert isinstance(failed.driver.why, CoreFailed) and not unheard
        await other.close()
        await node.close()

    monkeypatch.setattr(FactQueue, "dispatch", faulty)
    monkeypatch.setattr(Driver, "received", noted)
    asyncio.run(scenario())


def test_a_start_that_fails_by_a_mistake_of_ours_says_so(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(self: NodeCore, *args: Any) -> None:
        raise Fault

    with monkeypatch.context() as patched:
        patched.setattr(NodeCore, "start", faulty)
        with pytest.raises(CoreFailed, match="during its start"):
            asyncio.run(start(config(), environment(state)))
    assert Poison(state / "data" / "a").why


@pytest.mark.slow
def test_a_node_that_brings_it_again_is_refused_and_everybody_else_is_served(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = environment(state)
    take = Reception.dispatch

    def faulty(self: Reception, conn: Any, command: Any, envelopes: Any) -> None:
        take(self, conn, command, envelopes)
        if self._context.me.name == "a" and any(BAD in envelope.body for envelope in envelopes):
            raise Fault

    def refused(node: NodeRuntime) -> bool:
        return any(event.kind == "poisoned" for event in node.core.parts.context.events.events_after(0)[0])

    async def scenario() -> None:
        a = await start(config(), environ)
        given = {"node.id": "b", "node.cluster": "failing", "node.peers": a.described()["tcp"]}
        b = await start(load(None, {}, {**given, "discovery.mdns": False}), environ)
        lives = 1
        async with (
            mesh.connect("a", environ=environ, timeout=LIMIT) as ma,
            mesh.connect("b", environ=environ, timeout=LIMIT) as mb,
            ma.subscribe("k"),
        ):
            await mb.publish_many("k", [b"a good one", BAD, b"another"], persistent=True)
            async with asyncio.timeout(LIMIT):
                while not refused(a):
                    await asyncio.sleep(0.01)
                    if a.driver.why is not None:
                        assert isinstance(a.driver.why, CoreFailed)
                        lives += 1
                        await a.close()
                        a = await start(config(), environ)
            assert 1 < lives < 5 and b.driver.why is None
            for client in (ma, mb):
                assert (await client.publish("other", b"v")).ok
            assert a.driver.why is None
        await b.close()
        await a.close()

    monkeypatch.setattr(Reception, "dispatch", faulty)
    asyncio.run(scenario())


# --- processes -------------------------------------------------------------------------------------------

PLANTED = f"""
import sys
from mesh.cli.main import main
from mesh.kernel.reception import Reception

take = Reception.dispatch

def faulty(self, conn, command, envelopes):
    take(self, conn, command, envelopes)
    if any({BAD!r} in envelope.body for envelope in envelopes):
        raise KeyError("\\x1b[2J")

Reception.dispatch = faulty
sys.exit(main())
"""


@pytest.mark.slow
def test_a_process_ends_by_name_and_lives_when_the_same_message_comes_again() -> None:
    async def scenario(node: RunningNode) -> None:
        async with Client("a", environ=node.environ, timeout=LIMIT) as client:
            publishing = asyncio.create_task(client.publish("k", BAD, persistent=True))
            code = await asyncio.to_thread(node.wait)
            assert code == CRASHED
            await asyncio.to_thread(node.start)
            with pytest.raises(PublishRefused, match="POISONED"):
                await publishing
            assert (await client.publish("k", b"v", persistent=True)).ok

    with state_directory() as place:
        node = RunningNode("a", place, "failing", ())
        node.program = (sys.executable, "-c", PLANTED)
        node.start()
        try:
            asyncio.run(scenario(node))
            said = node.mesh("events").stdout
            assert "restarted after a failure: The node failed because of a bug" in said
        finally:
            code = node.stop() if node.is_running else None
        assert code == 0
        assert "Traceback (most recent call last)" in node.log and "[CORE_FAILED]" in node.log
        assert "\x1b" not in node.log and (place / "data" / "a" / FILE).exists()


def test_the_page_says_what_becomes_of_it() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reliability.md").read_text()
    section = page.partition("## A bug in a node")[2].partition("\n## ")[0]
    assert f"exit code {CRASHED}" in section and f"newest {KEPT}" in section and FILE in section
    assert all(f"`{name}`" in section for name in (CoreFailed.code, FAILED, "poisoned", "POISONED"))
