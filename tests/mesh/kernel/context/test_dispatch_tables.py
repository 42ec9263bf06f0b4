"""A component declares its handlers once, and each fact except traces has a handler."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from mesh.discovery.member import Joined
from mesh.errors import FeatureFailed
from mesh.features.all import FEATURES
from mesh.kernel.context.component import Beginning, Component, HandlerEntry, on_command
from mesh.kernel.context.dispatch_tables import DispatchTables
from mesh.kernel.context.effects import Commit
from mesh.kernel.context.facts import Fact, Hearing, ProtocolBroken, Trace, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.settings import Settings
from mesh.kernel.delivery.facts import EnvelopeAccepted
from mesh.kernel.feature import Feature, FeatureParts
from mesh.kernel.node import NodeCore
from mesh.kernel.parts import Parts
from mesh.kernel.peers.facts import PeerJoined, RoutesChanged, ViewChanged
from mesh.kernel.presence.facts import RequestAnswered
from mesh.operations import Image, Put
from mesh.wire import commands as c
from mesh.wire.calls import Ask, read_ask
from mesh.wire.replies import ReplyValue
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

DOCS = Path(__file__).parents[4] / "docs"
WIRE = DOCS / "wire.md"
ME = c.Introduction(b"h" * 16, "heron", 1, "")


class Wave(c.Command, frozen=True, tag=99):
    """A command that no other component knows."""

    times: int = 1


class AskWave(Ask, frozen=True, kw_only=True):
    """The call of the verb `wave`."""

    verb = "wave"
    times: int


class WaveSaid(ReplyValue, frozen=True, kw_only=True):
    """The reply to `AskWave`."""

    node: str


@dataclass(frozen=True, slots=True)
class Waved(Fact):
    """A client has waved."""

    times: int


class Greetings(Component):
    """A feature with all that a component can declare."""

    def __init__(self, parts: Parts) -> None:
        self._context, self._disk = parts.context, parts.disk
        self.count = self.ticks = self.joined = 0
        self.flushed = False

    def start(self, beginning: Beginning) -> None:
        self.count = int.from_bytes(beginning.rows("weights").get(b"greetings", b""))

    def from_clients(self) -> Sequence[HandlerEntry]:
        return (
            on_command(
                Wave, lambda conn, session, command, _: self._context.facts.publish_fact(Waved(command.times))
            ),
        )

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskWave, self._wave, Right.WRITE),)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(Waved, self._waved), on_fact(PeerJoined, self._met))

    def _wave(self, asked: IncomingCall[AskWave]) -> None:
        self._context.facts.publish_fact(Waved(asked.ask.times))
        asked.reply(WaveSaid(node=self._context.me.name))

    def _waved(self, fact: Waved) -> None:
        self.count += fact.times
        self._disk.later("weights", b"greetings", Put("weights", b"greetings", self.count.to_bytes(4)))

    def _met(self, fact: PeerJoined) -> None:
        self.joined += 1

    def tick(self) -> None:
        self.ticks += 1

    def flush(self) -> None:
        self.flushed = True

    def figures(self) -> dict[str, int | float]:
        return {"greetings": self.count}


def core(*makes: Callable[[Parts], Component]) -> NodeCore:
    features = [Feature(f"of the test {n}", partial(_built, make)) for n, make in enumerate(makes)]
    return NodeCore(Parts(Settings(me=ME), bytes, lambda: 0.5, (*FEATURES, *features)))


def _built(make: Callable[[Parts], Component], parts: Parts) -> FeatureParts:
    return FeatureParts(make(parts))


def begun(row: bytes = b"") -> tuple[NodeCore, Greetings]:
    node = core(Greetings)
    rows = {b"greetings": row} if row else {}
    node.start(Image([], {"weights": rows}, 1), 1.0, 10**18)
    (room,) = (part for part in node.parts.context.face if isinstance(part, Greetings))
    return node, room


def test_a_capability_is_a_room_and_one_line() -> None:
    node, room = begun((7).to_bytes(4))
    assert (room.count, node.parts.context.figures()["greetings"], room.ticks) == (7, 7, 1)
    node.take_effects()
    assert room.flushed
    node.parts.context.face.from_clients[Wave](None, None, Wave(3), [])  # type: ignore[arg-type]
    node.tick(2.0, 10**18)
    assert room.count == 10
    commits = [effect for effect in node.take_effects() if isinstance(effect, Commit)]
    rows = {op.key: op.value for commit in commits for op in commit.ops if isinstance(op, Put)}
    assert rows[b"greetings"] == (10).to_bytes(4)
    verb = node.parts.context.face.client_verbs["wave"]
    said: list[c.Reply] = []
    ask = read_ask(verb.asks, {"times": 1})
    verb.then(IncomingCall(ask, 1, None, None, lambda reply, _: said.append(reply)))  # type: ignore[arg-type]
    assert [reply.value for reply in said] == [WaveSaid(node="heron")]
    node.take_effects()
    assert (room.count, verb.right) == (11, Right.WRITE)


@pytest.mark.parametrize(
    "what",
    [
        "from_clients",
        "from_peers",
        "client_verbs",
        "peer_verbs",
        "address_resolvers",
        "next_hops",
        "remote_addresses",
        "puts",
        "envelope_restorers",
    ],
)
def test_two_parts_that_want_the_same_are_an_error_at_the_start(what: str) -> None:
    wanted: Any = (
        (answer(AskWave, lambda _: None),) if what.endswith("verbs") else (on_command(Wave, lambda *_: None),)
    )
    tables: Any = {
        "address_resolvers": lambda self: {"client": self},
        "next_hops": lambda self: {"site/": self},
        "remote_addresses": lambda self: {"/site/": self},
        "puts": lambda self: {"queue/": self.tick},
        "envelope_restorers": lambda self: {"client": self.tick},
    }
    same: Any = type("Same", (Component,), {what: tables.get(what, lambda self: wanted)})
    with pytest.raises(FeatureFailed, match=r"Two components handle .*: Same of .* and Same of"):
        DispatchTables().fill([same(), same()])


def test_what_nobody_hears_is_an_error_and_not_silence() -> None:
    node, _ = begun()
    core_without = core()
    core_without.parts.context.facts.publish_fact(Waved(1))
    with pytest.raises(KeyError):
        core_without.take_effects()
    node.parts.context.facts.publish_fact(Waved(1))
    node.take_effects()


class Watcher(Component):
    """A component that records what happens to envelopes."""

    def __init__(self, parts: Parts) -> None:
        parts.context.facts.watched = True
        self.heard: list[Fact] = []

    def fact_handlers(self) -> Sequence[Hearing]:
        return [
            on_fact(trace, self.heard.append) for trace in (EnvelopeAccepted, ViewChanged, ProtocolBroken)
        ]


class WatchedNode(SimNode):
    features = (*FEATURES, Feature("watching", partial(_built, Watcher)))


def test_traces_are_said_to_those_who_watch_and_else_not_at_all() -> None:
    net = SimNetwork()
    watched, other = WatchedNode(net, "a", (), {}), SimNode(net, "b", ("a",), {})
    watched.start()
    other.start()
    (watcher,) = (part for part in watched.core.parts.context.face if isinstance(part, Watcher))
    said: list[Fact] = []
    other.core.parts.context.facts.publish_fact = said.append  # type: ignore[method-assign,assignment]
    net.until(lambda: watched.alive == {"b"})
    client_of(watched).publish("x", b"1", persistent=False)
    client_of(other).publish("x", b"2", persistent=False)
    net.run(1.0)
    (peer,) = watched.core.parts.neighbours.peers.values()
    assert peer.control is not None
    watched.core.receive(peer.control.key, [b"?"], watched.now, watched.wall)
    watched.core.take_effects()
    broken = [fact for fact in watcher.heard if isinstance(fact, ProtocolBroken)]
    assert [fact.who for fact in broken] == [peer.node]
    seen = [fact for fact in watcher.heard if isinstance(fact, ViewChanged)]
    taken = [fact for fact in watcher.heard if isinstance(fact, EnvelopeAccepted)]
    assert [type(fact.event) for fact in seen] == [Joined]
    assert [fact.pieces[0][0].keys for fact in taken] == [("x",)]
    assert said and not [fact for fact in said if isinstance(fact, Trace)]


def test_a_trace_that_nobody_hears_is_none_the_worse() -> None:
    node = core()
    node.parts.context.facts.publish_fact(EnvelopeAccepted([]))
    node.take_effects()
    assert not node.parts.context.facts.queue


def test_what_is_said_last_is_heard_once_behind_all_others() -> None:
    node, _ = begun()
    heard: list[Fact] = []
    for kind in (PeerJoined, RoutesChanged, Waved):
        node.parts.context.face.fact_handlers[kind] = [heard.append]

    def echo(fact: Any) -> None:
        if fact.times:
            node.parts.context.facts.publish_fact(Waved(0))

    node.parts.context.face.fact_handlers[Waved].append(echo)
    node.parts.context.facts.publish_last(RoutesChanged())
    for times in (2, 1):
        node.parts.context.facts.publish_fact(Waved(times))
        node.parts.context.facts.publish_last(RoutesChanged())
    node.take_effects()
    assert heard == [Waved(2), Waved(1), Waved(0), Waved(0), RoutesChanged()]
    node.parts.context.facts.publish_last(RoutesChanged())
    node.take_effects()
    assert len(heard) == 6


def test_two_that_are_both_said_last_do_not_wait_for_each_other() -> None:
    node, _ = begun()
    heard: list[Fact] = []
    for kind in (RoutesChanged, RequestAnswered, Waved):
        node.parts.context.face.fact_handlers[kind] = [heard.append]
    node.parts.context.facts.publish_last(RoutesChanged())
    node.parts.context.facts.publish_last(RequestAnswered())
    node.parts.context.facts.publish_fact(Waved(1))
    node.take_effects()
    assert heard == [Waved(1), RoutesChanged(), RequestAnswered()]


def test_saying_it_last_costs_the_same_however_much_was_said() -> None:
    node, _ = begun()
    looked = 0

    class Counted(Waved):
        def __eq__(self, other: object) -> bool:
            nonlocal looked
            looked += 1
            return False

    for _ in range(100):
        node.parts.context.facts.publish_fact(Counted(1))
        node.parts.context.facts.publish_last(RoutesChanged())
    assert looked == 0 and len(node.parts.context.facts.queue) == 101


def facts() -> set[type[Fact]]:
    """Return all facts of the modules for facts, except traces."""
    is_one = re.compile(r"mesh\.(kernel|features)(\.\w+)+\.facts").fullmatch
    files = [module for name, module in sys.modules.items() if is_one(name)]
    every = (each for file in files for each in vars(file).values() if isinstance(each, type))
    return {each for each in every if issubclass(each, Fact) and each not in (Fact, Trace)}


def test_each_fact_but_the_traces_has_a_handler() -> None:
    hears = core().parts.context.face.fact_handlers
    assert set(hears) == {fact for fact in facts() if not issubclass(fact, Trace)}


@pytest.mark.parametrize("section", ["### Verbs of clients", "### Verbs between nodes"])
def test_each_verb_stands_on_the_page_with_its_arguments(section: str) -> None:
    page = WIRE.read_text()
    table = page[page.index("| verb |", page.index(section)) :].partition("\n\n")[0]
    rows: dict[str, str] = {}
    for row in table.splitlines()[2:]:
        _, name, arguments, *_ = row.split("|")
        rows[name.strip(" `")] = rows.get(name.strip(" `"), "") + arguments
    face = core().parts.context.face
    verbs = face.client_verbs if "clients" in section else face.peer_verbs
    assert set(verbs) == set(rows)
    for name, verb in verbs.items():
        told = set(re.findall(r"`(\w+)`", rows[name]))
        needed = {f.encode_name for f in fields(verb.asks) if f.required}
        assert needed <= told, f"{name} needs {needed - told}"
