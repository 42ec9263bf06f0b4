"""A lone request is answered by its reply, or by an answer without one in time."""

from __future__ import annotations

from collections import Counter

import pytest

from mesh.kernel.presence.reply_batch import HOLD
from mesh.wire import commands as c
from mesh.wire.envelope import EVERY, REQUEST
from mesh.wire.frames import read
from tests.mesh.features.services.node.user import User
from tests.simulation import SimNetwork
from tools.simulator.world.network import Pipe

SOON = HOLD / 2


class Stage:
    """A server, at its own node or at that of the asker, with a count of the sent commands."""

    def __init__(self, is_far: bool = True, credit: int = 64, **settings: object) -> None:
        self.net = SimNetwork()
        self.a, self.b = self.net.mesh("a", "b", **settings)
        self.server = User(self.a if is_far else self.b, "server")
        self.asker = User(self.b, "asker")
        self.server.serve("x", credit=credit)
        self.ask(reply=True)  # now the asker's node knows the server
        self.net.run(1.0)
        self.asker.answers.clear()
        self.said: Counter[type[c.Command]] = Counter()
        trace = self.net.trace

        def counting(pipe: Pipe, direction: int, frames: list[bytes]) -> None:
            self.said[type(read(frames)[0])] += 1
            trace(pipe, direction, frames)

        self.net.trace = counting  # type: ignore[method-assign]

    def ask(self, content: bytes = b"?", reply: bool = False) -> int:
        """Send a request, and return its number once the server has it."""
        before = len(self.server.contents())
        number = self.asker.request("x", content, ttl=60_000)
        self.net.until(lambda: len(self.server.contents()) > before)
        if reply:
            self.server.reply((before + 1, b"!"))
            self.net.until(lambda: number in self.asker.codes())
        return number

    def answers(self, number: int) -> list[str]:
        """Return the states of its answers, in their order."""
        return [a.state for a in self.asker.answers if a.first <= number <= a.last]


far_and_near = pytest.mark.parametrize("is_far", [True, False])


@far_and_near
def test_a_reply_is_all_that_is_said_of_a_lone_request(is_far: bool) -> None:
    stage = Stage(is_far)
    numbers = [stage.ask(reply=True) for _ in range(3)]
    stage.net.run(2 * HOLD)
    assert [stage.asker.codes()[n] for n in numbers] == [""] * 3
    assert not stage.said[c.Answers] and not stage.said[c.Sent] and stage.asker.answers == []
    assert (stage.b.metric("requests"), stage.b.metric("replies")) == (4, 4)
    assert (stage.b.metric("client_routed"), stage.b.metric("client_held")) == (4, 0)


@far_and_near
def test_who_takes_his_time_has_his_sender_answered_meanwhile_and_once(is_far: bool) -> None:
    stage = Stage(is_far)
    number = stage.ask()
    stage.net.run(SOON)
    assert stage.answers(number) == []
    stage.net.run(HOLD)
    assert stage.answers(number) == ["OK"] and stage.b.metric("requests_open") == 1
    stage.server.reply((2, b"late"))
    stage.net.run(2 * HOLD)
    assert stage.answers(number) == ["OK"] and stage.asker.codes()[number] == ""
    assert stage.b.metric("requests_open") == 0


def test_the_next_request_has_the_one_before_answered_at_once() -> None:
    stage = Stage()
    first, second = stage.ask(), stage.ask()
    stage.net.run(SOON)
    assert (stage.answers(first), stage.answers(second)) == (["OK"], [])
    stage.net.run(HOLD)
    assert (stage.answers(first), stage.answers(second)) == (["OK"], ["OK"])


def test_a_reply_to_another_one_is_no_answer_to_it() -> None:
    stage = Stage()
    stage.ask()
    last = stage.ask()
    stage.server.reply((2, b"the first"))
    stage.net.run(SOON)
    assert stage.answers(last) == []
    stage.net.run(HOLD)
    assert stage.answers(last) == ["OK"]


def test_what_wants_no_reply_or_comes_with_others_or_is_for_all_is_answered_at_once() -> None:
    stage = Stage()
    sent = stage.asker.send("x", b"1")
    stage.net.run(SOON)
    assert stage.answers(sent) == ["OK"]
    several = stage.asker.request("x", b"2", b"3")
    stage.net.run(SOON)
    assert stage.answers(several) == stage.answers(several + 1) == ["OK"]
    gathered = stage.asker.send("x", b"4", flags=REQUEST | EVERY, ttl=5000)
    stage.net.run(SOON)
    assert stage.answers(gathered) == ["OK"]


def test_each_sender_waits_by_himself() -> None:
    stage = Stage()
    other = User(stage.b, "other")
    first = stage.ask()
    other.request("x", b"mine", ttl=60_000)
    stage.net.until(lambda: len(stage.server.contents()) == 3)
    stage.net.run(SOON)
    assert stage.answers(first) == [] and other.answers == []


@far_and_near
def test_who_is_gone_before_the_answer_has_lost_it_at_once_and_nothing_is_said_later(is_far: bool) -> None:
    stage = Stage(is_far)
    number = stage.ask()
    stage.server.vanish()
    stage.net.run(SOON)
    assert stage.asker.codes()[number] == "HANDLER_LOST"
    stage.net.run(1.0)
    assert stage.answers(number) == [] and stage.b.metric("unasked") == 0


def test_a_node_that_is_lost_before_the_answer_has_lost_it() -> None:
    stage = Stage()
    number = stage.ask()
    stage.a.kill()
    stage.net.until(lambda: stage.asker.fate(number) == "HANDLER_LOST", limit=30)
    stage.net.run(1.0)
    assert stage.answers(number) == ["HANDLER_LOST"]


def test_what_is_given_back_before_the_answer_goes_to_another_and_then_to_nobody() -> None:
    stage = Stage()
    second = User(stage.a, "second")
    number = stage.ask(b"mine")
    second.serve("x", credit=1)
    stage.server.unserve("x", begun=1)
    stage.net.until(second.contents)
    second.unserve("x", begun=0)
    stage.net.until(lambda: stage.asker.fate(number) not in ("", "OK"))
    assert stage.asker.fate(number) == "NO_HANDLERS"
    assert second.contents() == [b"mine"]


def test_what_comes_again_before_the_answer_is_given_to_nobody_else() -> None:
    stage = Stage()
    number = stage.ask(b"once")
    stage.asker.vanish()
    stage.asker.connect(boot_seen=stage.b.core.parts.context.me.boot)
    stage.asker.publish("x", number, (b"once",), REQUEST, 60_000)
    stage.net.run(1.0)
    assert stage.server.contents().count(b"once") == 1 and stage.answers(number) == ["OK"]


def test_an_answered_one_that_comes_again_is_answered_again() -> None:
    stage = Stage()
    number = stage.ask(b"once", reply=True)
    stage.asker.vanish()
    stage.asker.connect(boot_seen=stage.b.core.parts.context.me.boot)
    stage.asker.publish("x", number, (b"once",), REQUEST, 60_000)
    stage.net.run(1.0)
    assert stage.server.contents().count(b"once") == 1 and stage.answers(number) == ["OK"]


def test_when_there_is_no_room_for_a_reply_its_sender_is_answered_all_the_same() -> None:
    stage = Stage(window_count=1, backlog_bytes=1 << 16)
    stage.asker.is_silent = True
    for count in range(2, 6):  # one is under way, others wait
        stage.ask()
        stage.server.reply((count, bytes(60_000)))
    last = stage.ask()
    stage.server.reply((6, bytes(60_000)))
    stage.net.run(SOON)
    assert last not in stage.asker.codes() and stage.answers(last) == ["OK"]
