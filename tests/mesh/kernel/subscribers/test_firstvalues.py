"""First values of nodes that answer late, in many parts, or never."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.routes import peer_calls
from mesh.kernel.subscribers import firstvalues, lastvalues
from mesh.kernel.subscribers.firstvalues import LONGEST
from mesh.wire import commands as c
from mesh.wire.calls import AskGet
from mesh.wire.replies import Values
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.mute import Mute
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode


def published(node: SimNode, count: int) -> None:
    joe = client_of(node)
    for n in range(count):
        joe.publish(f"k/{n}", b"%d" % n)
    joe.settled()


def unanswered(node: SimNode) -> dict[Any, Any]:
    return node.core.parts.first_values._unanswered


@pytest.mark.parametrize("seconds", [CONFIRM, 3 * CONFIRM])
def test_values_of_a_node_that_did_not_answer_follow_once_it_does(seconds: float) -> None:
    net = SimNetwork(1)
    a, b, _ = net.mesh("a", "b", "c")
    published(b, 30)
    mute = Mute(b)
    heard = client_of(a).subscribed(pattern="k/#")
    assert heard.contents == []
    net.run(seconds)
    client_of(a, "ann").publish("k/7", b"new")
    mute.speak()
    net.until(lambda: len(heard.contents) == 30, 2 * seconds + CONFIRM)
    net.run(LONGEST)
    assert sorted(heard.contents) == sorted([b"new", *(b"%d" % n for n in range(30) if n != 7)])
    assert not unanswered(a) and not len(a.core.parts.router.joining)


def test_values_of_a_reply_that_was_cut_off_are_not_delivered_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lastvalues, "_fit", lambda values: min(10, len(values)))
    net = SimNetwork(5)
    a, b = net.mesh("a", "b")
    published(b, 30)
    hears, parts = a.core.parts.context.face.from_peers, list[c.Command]()
    handle = hears[c.Reply]

    def cut(conn: Any, peer: Any, reply: c.Reply, envelopes: list[Any]) -> None:
        if len(envelopes) == 10:
            parts.append(reply)
        if len(parts) < 2 or len(parts) > 3:  # the last two parts of the first reply are lost
            handle(conn, peer, reply, envelopes)

    hears[c.Reply] = cut
    heard = client_of(a).subscribed(pattern="k/#")
    assert len(heard.contents) == 10
    net.until(lambda: len(heard.contents) >= 30)
    net.run(LONGEST)
    assert sorted(heard.contents) == sorted(b"%d" % n for n in range(30)) and not unanswered(a)


def test_a_node_that_never_answers_is_asked_ever_more_rarely_until_the_subscription_ends() -> None:
    net = SimNetwork(2)
    a, b = net.mesh("a", "b")
    mute = Mute(b)
    joe = client_of(a)
    heard = joe.subscribed(pattern="k/#")
    missed = []
    for _ in range(4):
        before = mute.missed
        net.run(2 * LONGEST)
        missed.append(mute.missed - before)
    assert len(unanswered(a)) == 1 and missed[-1] < missed[0]
    joe.unsubscribe(heard)
    net.run(1)
    assert not unanswered(a) and not len(a.core.parts.router.joining)


def test_of_many_subscriptions_only_some_ask_again_in_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firstvalues, "TURN", 4)
    net = SimNetwork(3)
    a, b = net.mesh("a", "b")
    published(b, 1)
    mute = Mute(b)
    joe = client_of(a)
    heard = [joe.subscribed("k/0") for _ in range(10)]
    first = a.core.parts.first_values
    net.until(lambda: len(unanswered(a)) == 10)
    a.core._at(net.now, a.wall)
    for it in unanswered(a).values():
        it.due = net.now
    first._ask_again()
    assert len(unanswered(a)) == 6 and first._asks_again == net.now
    mute.speak()
    net.until(lambda: all(each.contents == [b"0"] for each in heard))


class Told:
    """A question of `a` to `b`, with its outcome. The test writes the parts of the reply."""

    def __init__(self, extends: bool) -> None:
        self.net = SimNetwork(4)
        self.a, b = self.net.mesh("a", "b")
        self.peer = self.a.core.parts.neighbours.peers[b.uuid]
        Mute(b)
        self.ended: list[tuple[int, list[str]]] = []
        self.a.core._at(self.net.now, self.a.wall)
        self.a.core.parts.questions.ask_all(
            [self.peer], AskGet(kind="pattern", text="k/#", after=True), Values, self._then, extends=extends
        )
        self.request = self.a.core.parts.questions._request
        self.a._carry_out_all()

    def _then(self, replies: Any, missing: list[str]) -> None:
        self.ended.append((sum(len(told.found) for told in replies.values()), missing))

    def part(self, more: bool = True) -> None:
        assert self.peer.data is not None
        value = {"more": more, "sources": [["b", None, b"m" * 16]]}
        handle = self.a.core.parts.context.face.from_peers[c.Reply]
        self.a.core._at(self.net.now, self.a.wall)
        handle(self.peer.data, self.peer, c.Reply(self.request, value), [envelope("k/1", [b"x" * 100])])


@pytest.mark.parametrize(("extends", "ended"), [(True, [(6, [])]), (False, [(2, ["b"])])])
def test_each_part_of_a_reply_gives_a_question_more_time(
    extends: bool, ended: list[tuple[int, list[str]]]
) -> None:
    told = Told(extends)
    for _ in range(5):
        told.net.run(CONFIRM - 1)
        told.part()
    told.part(more=False)
    assert told.ended == ended


@pytest.mark.parametrize("bound", ["time", "bytes"])
def test_a_reply_without_end_ends(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if bound == "bytes":
        monkeypatch.setattr(peer_calls, "MOST", 250)
    told = Told(True)
    began = told.net.now
    while not told.ended and told.net.now - began < 2 * peer_calls.LONGEST:
        told.net.run(1)
        if not told.ended:
            told.part()
    assert told.ended[0][1] == ["b"]
    longest = peer_calls.LONGEST if bound == "time" else CONFIRM + 2
    assert told.net.now - began == pytest.approx(longest, abs=1.1)
