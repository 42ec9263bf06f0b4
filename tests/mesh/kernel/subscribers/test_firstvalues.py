"""First values that arrive in many parts."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.routes import peer_calls
from mesh.kernel.subscribers import lastvalues
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


def test_many_values_may_take_long_and_the_subscription_is_confirmed_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lastvalues, "_fit", lambda values: min(10, len(values)))
    net = SimNetwork(5)
    a, b = net.mesh("a", "b")
    published(b, 50)
    hears = a.core.parts.context.face.from_peers
    handle, parts = hears[c.Reply], list[tuple[Any, ...]]()
    hears[c.Reply] = lambda *part: parts.append(part) if part[3] else handle(*part)
    began = net.now
    heard = client_of(a).subscribe(pattern="k/#")
    net.until(lambda: len(parts) == 5)
    for part in parts:  # the first one in time, and each one in time after the one before
        assert heard.is_confirmed == (net.now - began > CONFIRM)
        a.core._at(net.now, a.wall)
        handle(*part)
        a._carry_out_all()
        net.run(CONFIRM - 0.5)
    hears[c.Reply] = handle
    net.until(lambda: len(heard.contents) == 50)
    assert not a.core.parts.first_values._promised and not len(a.core.parts.router.joining)


def test_a_client_that_reconnects_while_its_values_are_fetched_is_answered() -> None:
    net = SimNetwork(5)
    a, b = net.mesh("a", "b")
    published(b, 3)
    hears = a.core.parts.context.face.from_peers
    handle, parts = hears[c.Reply], list[tuple[Any, ...]]()
    hears[c.Reply] = lambda *part: parts.append(part)
    joe = client_of(a)
    heard = joe.subscribe(pattern="k/#")
    net.until(lambda: len(parts) > 0)
    assert joe.pipe is not None
    joe.pipe.lose()
    net.until(lambda: not joe.core.line.is_up)
    net.until(lambda: joe.core.line.is_up)
    net.run(0.5)  # the client has subscribed again
    assert not heard.is_confirmed
    a.core._at(net.now, a.wall)
    for part in parts:
        handle(*part)
    hears[c.Reply] = handle
    a._carry_out_all()
    net.until(lambda: heard.is_confirmed)
    net.until(lambda: len(heard.contents) == 3)


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
