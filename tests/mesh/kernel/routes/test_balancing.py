"""The candidates that a strategy sees, and choices that stay the same."""

from collections.abc import Sequence
from typing import Any

import pytest

from mesh.balancers.base import Candidate, Message, NodeInfo, Registration, Strategy
from mesh.balancers.round_robin import RoundRobin
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import Settings
from mesh.kernel.routes import strategies
from mesh.kernel.routes.balancing import Balancing
from mesh.wire.commands import Introduction
from mesh.wire.metadata import said
from tests.balancers.candidates import Headers, Sample

ME = Introduction(b"m" * 16, "bilbo", 1, "")
ABC = ("a", "b", "c")


class Last(Strategy):
    """A strategy that picks the last candidate, and records what it is shown."""

    shown: Sequence[Candidate] = ()
    info: NodeInfo | None = None

    def pick(self, candidates: Sequence[Candidate], message: Message | None = None) -> str:
        self.shown = candidates
        return candidates[-1].node

    def started(self, node_info: NodeInfo) -> None:
        self.info = node_info


@pytest.fixture
def context() -> NodeContext:
    return NodeContext(Settings(me=ME), lambda n: bytes(n), lambda: 0.5)


@pytest.fixture
def strategy() -> Last:
    return Last(lambda: 0.5)


@pytest.fixture
def balancing(context: NodeContext, strategy: Last) -> Balancing:
    return Balancing(context, strategy, lambda node: None, lambda node: None, lambda node: 1.0)


def test_it_says_for_whom_it_chooses(balancing: Balancing, strategy: Last) -> None:
    assert strategy.info == NodeInfo("bilbo", ME.uuid, 2.0)


def test_for_the_same_purpose_it_is_the_same_node_as_long_as_that_would_do(balancing: Balancing) -> None:
    assert [balancing.choose(nodes, "s") for nodes in (ABC, ("c", "a"), ("c", "b", "a"))] == ["c", "c", "c"]
    assert balancing.choose(("a", "b"), "s") == "b"
    assert balancing.choose(ABC, "s") == "b", "it do not move back"
    assert balancing.choose(ABC, "another") == "c"


def test_without_a_purpose_it_is_a_new_choice(balancing: Balancing) -> None:
    assert [balancing.choose(nodes, None) for nodes in (ABC, ("a", "b"), ABC)] == ["c", "b", "c"]


def test_the_strategy_sees_what_a_node_has_said_of_itself(context: NodeContext, strategy: Last) -> None:
    states = {"a": (0.25, 1.5, 4096)}
    balancing = Balancing(context, strategy, lambda node: None, states.get, lambda node: 1.0)
    balancing.choose(("a", "b"), None)
    known, unknown = strategy.shown
    assert (known.load, known.age, known.ram_free) == (0.25, 1.5, 4096)
    assert (unknown.load, unknown.age, unknown.ram_free) == (None, None, None)


def test_the_strategy_sees_how_much_a_node_counts(context: NodeContext, strategy: Last) -> None:
    weights = {"a": 2.5, "b": 1.0}
    balancing = Balancing(context, strategy, lambda node: None, lambda node: None, weights.__getitem__)
    balancing.choose(("a", "b"), None)
    assert [candidate.weight for candidate in strategy.shown] == [2.5, 1.0]


def test_a_node_that_is_drained_is_chosen_only_if_all_are(context: NodeContext, strategy: Last) -> None:
    leaving = {"c"}
    balancing = Balancing(
        context, strategy, lambda node: None, lambda node: None, lambda node: 1.0, leaving.__contains__
    )
    assert balancing.choose(ABC, None) == "b"
    assert balancing.assign("calc", {"a": 1, "c": 1}, 2) == {"a": 2}
    leaving.update(ABC)
    assert balancing.choose(ABC, None) == "c"


def test_own_choices_count_until_the_node_can_have_said_so(
    balancing: Balancing, strategy: Last, context: NodeContext
) -> None:
    for _ in range(10):
        balancing.choose(("a", "b"), None)
    assert [round(c.sent) for c in strategy.shown] == [0, 9]
    context.clock.now += 60.0
    balancing.choose(("a", "b"), None)
    assert [round(c.sent) for c in strategy.shown] == [0, 0]


class Reader(Last):
    """A strategy that picks the node that the message names."""

    reads_message = True

    def pick(self, candidates: Sequence[Candidate], message: Message | None = None) -> str:
        self.shown = candidates
        assert message is not None
        return message.headers.get("to") or ""


class Peer:
    """The part of a peer that the choice needs."""

    def __init__(self, boot: int = 1, alive: bool = True, **metadata: str) -> None:
        self.node, self.metadata = Introduction(b"a" * 16, "a", boot, ""), metadata
        self.reads, self.rtt, self.suspect, self.alive = dict[int, object](), 0.25, False, alive


def among(context: NodeContext, strategy: Strategy, **peers: Peer) -> Balancing:
    find: Any = peers.get
    return Balancing(context, strategy, find, lambda node: None, lambda node: 1.0)


def unasked() -> Message:
    raise AssertionError("nobody wants to see the message")


def test_messages_to_an_address_are_dealt_out_to_those_who_serve_it(
    context: NodeContext, strategy: Last
) -> None:
    balancing = among(context, strategy, a=Peer(rack="r1"))
    assert balancing.assign("x", {"bilbo": 2, "a": 3}, 4, unasked) == {"a": 4}
    here, there = strategy.shown
    assert (here.consumers, here.is_here, here.uuid) == (2, True, ME.uuid)
    assert (there.consumers, there.is_here, there.metadata) == (3, False, {"rack": "r1"})
    assert context.counters.tally.counters_of("a").chosen == 4


def test_where_there_is_no_choice_no_strategy_is_asked_and_it_counts_all_the_same(
    context: NodeContext, strategy: Last
) -> None:
    balancing = among(context, strategy, a=Peer())
    assert balancing.assign("x", {"a": 3}, 4, unasked) == {"a": 4}
    assert balancing.assign("x", {"bilbo": 1}, 2, unasked) == {"bilbo": 2}
    assert not strategy.shown and context.counters.tally.counters_of("a").chosen == 4
    balancing.choose(("b", "a"), None)
    assert strategy.shown[1].sent == pytest.approx(4, abs=0.1)


def test_suspects_get_none_while_there_are_others_and_what_is_for_all_all_the_same(
    context: NodeContext,
) -> None:
    balancing = among(context, RoundRobin(lambda: 0.5), a=Peer(), b=(doubted := Peer()))
    doubted.suspect = True
    assert balancing.assign("x", {"a": 1, "b": 1}, 4) == {"a": 4}
    assert balancing.assign("x", {"b": 1}, 4) == {"b": 4}
    assert balancing.several("x", {"a": 1, "b": 1}) == ["a", "b"]
    assert balancing.several("x", {}) == []


def test_only_a_strategy_that_reads_messages_sees_one(context: NodeContext) -> None:
    balancing = among(context, reader := Reader(lambda: 0.5))
    message = Sample(headers=Headers({"to": "b"}))
    assert balancing.reads_message("x")
    assert balancing.assign("x", {"a": 1, "b": 1}, 1, lambda: message) == {"b": 1}
    assert [candidate.node for candidate in reader.shown] == ["a", "b"]
    assert not among(context, Last(lambda: 0.5)).reads_message("x")


def test_what_a_node_has_not_answered_and_how_soon_it_does_is_shown(
    context: NodeContext, strategy: Last
) -> None:
    balancing = among(context, strategy, a=Peer(), b=Peer())
    balancing.sent_to("a", 5)
    balancing.count_answers("a", 2, 0.5)
    balancing.assign("x", {"a": 1, "b": 1}, 1)
    assert (strategy.shown[0].outstanding, strategy.shown[0].latency) == (3, 0.5)
    assert balancing.outstanding("a") == 3
    balancing.choose(("a",), None)
    assert (strategy.shown[0].outstanding, strategy.shown[0].latency) == (0, 0.25), "of a way it is another"


def test_another_process_of_a_node_owes_nothing_and_one_that_is_gone_is_forgotten(
    context: NodeContext,
) -> None:
    balancing = among(context, Last(lambda: 0.5), a=(peer := Peer()), b=Peer())
    balancing.sent_to("a", 5)
    peer.node = Introduction(b"a" * 16, "a", 2, "")
    assert balancing.outstanding("a") == 0
    balancing.sent_to("a", 1)
    balancing.sent_to("bilbo", 1)
    peer.alive = False
    context.clock.now += 61.0
    balancing.assign("x", {"b": 1}, 1)
    assert (balancing.outstanding("a"), balancing.outstanding("bilbo")) == (0, 1)


class Noting(Last):
    """A strategy that records the registrations that it receives."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.5)
        self.told: list[Registration] = []

    def registrations(self, delta: Sequence[Registration]) -> None:
        self.told += delta


def test_addresses_and_domains_have_strategies_of_their_own() -> None:
    usual, calc, every, news = (Noting() for _ in range(4))
    given = (("calc/#", calc), ("calc/+", every))
    settings = Settings(me=ME, address_balancers=given, domain_balancers={"NEWS": news})
    balancing = among(NodeContext(settings, bytes, lambda: 0.5), usual)
    assert all(it.info == NodeInfo("bilbo", ME.uuid, 2.0) for it in (usual, calc, every, news))
    balancing.assign("calc/add", {"a": 7, "e": 1}, 1)
    balancing.choose(("b", "c"), None, "NEWS")
    assert not usual.shown and not every.shown, "the first that matches counts"
    assert [c.node for c in (*calc.shown, *news.shown)] == ["a", "e", "b", "c"]
    balancing.choose(("b", "c"), None)
    balancing.assign("news", {"d": 1, "e": 1}, 1)
    assert [c.node for c in usual.shown] == ["d", "e"] and len(calc.shown) == 2
    balancing.registrations([Registration("calc/add", "a"), Registration("news", "d", -1)])
    assert (calc.told, usual.told) == ([Registration("calc/add", "a")], [Registration("news", "d", -1)])
    assert every.told == news.told == []


def test_so_many_addresses_are_remembered_and_each_has_its_own_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(strategies, "KEPT", 3)
    found = strategies.Strategies(
        Settings(me=ME, address_balancers=(("a/#", own := Noting()),)), usual := Noting()
    )
    assert all(found.of_address(f"a/{n}") is own and found.of_address(f"b/{n}") is usual for n in range(9))
    assert len(found._known) <= 3


def test_the_node_that_chooses_says_where_it_is() -> None:
    me = Introduction(b"m" * 16, "bilbo", 1, "", metadata=said({"rack": "r1"}))
    balancing = among(NodeContext(Settings(me=me), bytes, lambda: 0.5), it := Last(lambda: 0.5))
    assert it.info is not None and it.info.metadata == {"rack": "r1"}
    balancing.assign("x", {"bilbo": 1, "a": 1}, 1)
    assert it.shown[0].metadata == {"rack": "r1"}
