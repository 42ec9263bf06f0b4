"""The queries of a peer are processed in turns, and other peers are served between them."""

from typing import Any

import pytest

from mesh.kernel.context.incoming_call import IncomingCall, answer
from mesh.kernel.subscribers import peer_subscriptions
from mesh.wire import commands as c
from mesh.wire.calls import AskGet
from mesh.wire.commands import Interest, Query
from tests.mesh.kernel.subscribers.linked import Linked, exact, wants
from tests.seeds import scenarios
from tests.simulated_client import client_of
from tests.simulation import SimNetwork


def test_what_is_wanted_no_more_falls_with_the_last_part() -> None:
    it = Linked()
    wants(it.b, it.a, exact(0, 2000))
    it.a.restart()
    it.net.until(lambda: it.is_confirmed)
    asked = it.b.core.parts.demand.interests.interest_of(it.a.uuid)
    for query in exact(0, 500):
        del asked.queries[query]
    steps: list[tuple[bool, int]] = []
    take_up = it.a.core.parts.wanted._take_up

    def noted(peer: Any, part: Interest) -> None:
        steps.append((part.more, len(peer.exchange.feed.queries)))
        take_up(peer, part)

    it.a.core.parts.wanted._take_up = noted  # type: ignore[method-assign]
    it.net.break_all("b")
    it.net.until(lambda: steps and not steps[-1][0])
    connected = [it.peer.exchange.feed.connected]
    it.net.until(lambda: it.is_confirmed and len(it.wanted) == 1501)
    assert [more for more, _ in steps] == [True] * (len(steps) - 1) + [False] and len(
        steps
    ) >= 1501 / peer_subscriptions.TURN
    assert {count for _, count in steps} == {2001} and connected == [False], "all falls before anything flows"


@pytest.mark.parametrize("version", scenarios([1, 2]))
def test_what_a_node_wants_is_taken_up_and_dropped_in_turns_and_others_are_heard_between(
    version: int,
) -> None:
    """This also holds for version 1, which has one frame for all. Later commands wait behind it."""
    it = Linked(version)
    turns: list[int] = []
    queries = it.a.core.parts.wanted._queries
    took, dropped = queries.add, queries.drop
    now = [0]

    def counted(count: int) -> None:
        now[0] += count

    def take(peer: Any, queries: Any) -> None:
        counted(len(queries))
        took(peer, queries)

    def drop(peer: Any, query: Query) -> None:
        counted(1)
        dropped(peer, query)

    queries.add = take  # type: ignore[method-assign]
    queries.drop = drop  # type: ignore[method-assign]
    effects = it.a.core.take_effects

    def take_effects() -> Any:
        turns.append(now[0])
        now[0] = 0
        return effects()

    it.a.core.take_effects = take_effects  # type: ignore[method-assign]
    wants(it.b, it.a, exact(0, 2000))
    it.net.break_all("b")
    it.net.until(lambda: sum(turns) > 500)
    other = client_of(it.b, "other")
    late = other.subscribed("late")
    it.net.until(lambda: it.is_confirmed)
    assert len(it.wanted) == 2002 and max(turns) <= 2 * peer_subscriptions.TURN
    it.publisher.publish("late", b"1")
    it.net.until(lambda: late.contents == [b"1"])
    turns.clear()
    asked = it.b.core.parts.demand.interests.interest_of(it.a.uuid)
    for query in exact(0, 2000):
        del asked.queries[query]
    it.net.break_all("b")
    it.net.until(lambda: it.is_confirmed and len(it.wanted) == 2)
    assert sum(turns) == 2000 and max(turns) <= 2 * peer_subscriptions.TURN
    it.goes_through(b"2")


def test_who_says_without_end_what_it_wants_keeps_nobody_else_waiting() -> None:
    net = SimNetwork()
    a, b, d = net.mesh("a", "b", "d")
    for node in (b, d):
        client_of(node).subscribed("k")
    core, said = a.core, 0
    endless, other = core.parts.neighbours.peers[b.uuid], core.parts.neighbours.peers[d.uuid]
    core.parts.wanted.tick()
    core.parts.wanted.interest(endless, Interest(2, False, exact(0, 2 * peer_subscriptions.TURN)))
    core.parts.wanted.interest(other, Interest(2, False, exact(0, 5)))
    while len(other.exchange.feed.queries) == 1:
        said += 1
        assert said < 5 and endless in core.parts.wanted._line
        core.parts.wanted.tick()
        core.parts.wanted.interest(
            endless, Interest(2 + said, False, exact(said * 1000, said * 1000 + peer_subscriptions.TURN))
        )


def asked(it: Linked, request: int) -> None:
    """Let b ask a for a retained value, on the same connection."""
    call = c.Call(request, "get", {"kind": "exact", "text": "k", "domain": "", "visited": []})
    it.a.core.parts.reception.dispatch(it.peer.data, call, [])


def test_what_a_peer_asks_behind_that_is_answered_when_it_is_taken_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise messages between the value and the subscription would be lost."""
    it = Linked()
    answered: list[int] = []
    verbs = it.a.core.parts.context.face.peer_verbs
    right = verbs["get"].then

    def noted(asked: IncomingCall[AskGet]) -> None:
        answered.append(asked.request)
        assert len(it.wanted) > 1000, "before it is taken up"
        right(asked)

    monkeypatch.setitem(verbs, "get", answer(AskGet, noted))
    monkeypatch.setattr(peer_subscriptions, "QUESTIONS", 5)
    it.a.core.parts.wanted.interest(it.peer, Interest(7, False, exact(0, 1000)))
    asked(it, 1)
    assert answered == [] and it.peer in it.a.core.parts.wanted._line
    while it.peer in it.a.core.parts.wanted._line:
        it.a.core.parts.wanted.tick()
    assert answered == [1]
    asked(it, 2)
    assert answered == [1, 2]
    it.a.core.parts.wanted.interest(it.peer, Interest(8, False, exact(1000, 3000)))
    for request in range(10, 15):
        asked(it, request)
    assert answered == [1, 2, *range(10, 15)] and len(it.wanted) == 3001, "so many do not wait"


def test_what_a_peer_asked_is_forgotten_with_its_connection() -> None:
    it = Linked()
    it.a.core.parts.wanted.interest(it.peer, Interest(7, False, exact(0, 1000)))
    asked(it, 1)
    it.net.break_all("b")
    it.net.until(lambda: it.peer.data is None)
    assert not it.a.core.parts.wanted._behind and not it.a.core.parts.wanted._line
