"""The acknowledgements of a client, also with many subscriptions."""

import pytest
from msgspec.structs import replace

from mesh.client.core.intake import Terms
from mesh.client.core.subscriptions import ACK_AFTER, ACK_AT, ACK_LATER, AMPLE, SHORT
from mesh.features.services.client.core.requests import REPLIES
from mesh.wire import commands as c
from mesh.wire.frames import body_frames
from tests.mesh.client.core.benches import CoreBench
from tests.mesh.envelopes import envelope
from tools.costing.wire import WELCOME


class Acknowledging(CoreBench):
    """Some subscriptions, each of which has consumed an item, and the acknowledgements to the node."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.subscriptions = self.core.subscriptions
        query = c.Query("exact", "room")
        self.all = [self.subscriptions.new_subscription(query, True, Terms()) for _ in range(count)]
        self.wait(1.0)  # the connection itself is acknowledged
        for s in self.all:
            pending = self.subscriptions.register(s)
            assert pending is not None
            self.hear(c.Reply(pending.request, {}))
            s.mark_consumed()
        self.done.clear()

    def deliver(self, *seqs: int) -> None:
        """Deliver items to the first subscription."""
        for seq in seqs:
            e = envelope(first=seq)
            head = c.ItemHead(body_frames(e), 0, b"m" * 16, ((1, b""),))
            self.hear(c.Items(seq, (head,)), e)

    def reply(self, *seqs: int, size: int = 8, heads: int = 1, number: int = REPLIES) -> None:
        """Send messages with `heads` heads each for a number that is no subscription."""
        for seq in seqs:
            es = [envelope(contents=[bytes(size)], first=seq) for _ in range(heads)]
            rows = tuple(c.ItemHead(body_frames(e), 0, b"m" * 16, ((number, b""),)) for e in es)
            self.hear(c.Items(seq, rows), *es)

    def acks(self) -> list[c.Ack]:
        return [command for command in self.sent() if isinstance(command, c.Ack)]

    def taken(self) -> tuple[tuple[int, int], ...]:
        """Return the pairs `taken` of the next acknowledgement."""
        self.subscriptions.plan_ack()
        before = len(self.acks())
        self.wait(ACK_AFTER)
        [ack] = self.acks()[before:]
        return ack.taken


def test_only_what_is_news_is_told() -> None:
    bench = Acknowledging(1_000)
    bench.deliver(*range(1, 6))
    assert len(bench.taken()) == 1_000
    bench.all[6].mark_consumed()
    assert bench.taken() == ((7, 2),)
    assert bench.taken() == () and bench.acks()[-1].have == 5


def test_all_that_comes_and_is_used_within_a_moment_is_told_at_once() -> None:
    bench = Acknowledging(2)
    bench.deliver(1, 2, 3)
    for s in bench.all:
        s.mark_consumed()
    bench.wait(0.5 * ACK_AFTER)
    assert bench.acks() == []
    bench.wait(0.6 * ACK_AFTER)
    assert bench.acks() == [c.Ack(3, ((1, 2), (2, 2)))]
    bench.wait(1.0)
    assert len(bench.acks()) == 1


def test_much_at_once_is_not_waited_for() -> None:
    bench = Acknowledging(1)
    bench.deliver(*range(1, 2 * ACK_AT + 1))
    assert [ack.have for ack in bench.acks()] == [ACK_AT, 2 * ACK_AT]


def test_what_nobody_heard_is_told_again() -> None:
    bench = Acknowledging(2)
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    bench.wait(ACK_AFTER)
    assert bench.acks() == []
    bench.connect()
    assert bench.taken() == ((1, 1), (2, 1))
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    bench.all[0].mark_consumed()
    bench.wait(ACK_AFTER)
    bench.connect()
    assert bench.taken() == ((1, 2), (2, 1))


def test_a_new_connection_is_told_all() -> None:
    bench = Acknowledging(2)
    bench.taken()
    bench.again()
    assert bench.taken() == ((1, 1), (2, 1))


def test_what_a_new_process_gave_counts_from_nothing() -> None:
    bench = Acknowledging(1)
    bench.taken()
    bench.again(boot=2)
    assert bench.taken() == ()
    bench.all[0].mark_consumed()
    assert bench.taken() == ((1, 1),)


def test_a_client_that_is_closed_tells_what_was_used_and_then_nothing_more() -> None:
    bench = Acknowledging(1)
    bench.core.close()
    bench.all[0].mark_consumed()
    bench.wait(1.0)
    assert [type(command) for command in bench.sent()] == [c.Ack, c.Bye]
    assert bench.acks() == [c.Ack(0, ((1, 1),))]


@pytest.mark.parametrize("number", [REPLIES, 77])
def test_lone_short_replies_and_requests_are_told_of_a_while_later(number: int) -> None:
    bench = Acknowledging(1)
    bench.taken()
    bench.done.clear()
    bench.reply(1, number=number)
    bench.wait(0.5 * ACK_LATER)
    bench.reply(2, number=number)
    assert bench.acks() == []
    bench.wait(0.6 * ACK_LATER)
    assert [ack.have for ack in bench.acks()] == [2]
    bench.wait(1.0)
    assert len(bench.acks()) == 1


@pytest.mark.parametrize("more", [{"size": SHORT + 1}, {"heads": 2}, {"number": 1}])
def test_others_are_told_of_soon_and_those_that_waited_with_them(more: dict[str, int]) -> None:
    bench = Acknowledging(1)
    bench.taken()
    bench.done.clear()
    bench.reply(1)
    bench.wait(0.1 * ACK_LATER)
    bench.reply(2, **more)
    bench.wait(ACK_AFTER)
    assert [ack.have for ack in bench.acks()] == [2]
    bench.wait(1.0)
    assert len(bench.acks()) == 1


def test_a_lone_one_that_comes_twice_is_told_of_soon_and_many_are_not_waited_for() -> None:
    bench = Acknowledging(1)
    bench.taken()
    bench.done.clear()
    bench.reply(1, 1)
    bench.wait(ACK_AFTER)
    assert [ack.have for ack in bench.acks()] == [1]
    bench.reply(*range(2, ACK_AT + 2))
    assert [ack.have for ack in bench.acks()] == [1, ACK_AT + 1]
    bench.wait(1.0)
    assert len(bench.acks()) == 2


@pytest.mark.parametrize("window", [(AMPLE[0] - 1, AMPLE[1]), (AMPLE[0], AMPLE[1] - 1)])
def test_where_the_window_is_narrow_all_are_told_of_soon(window: tuple[int, int]) -> None:
    bench = Acknowledging(1)
    for it, seconds in ((window, ACK_AFTER), (AMPLE, ACK_LATER)):
        bench.core.on_disconnected(bench.context.now, bench.core.line.key)
        bench.connect(replace(WELCOME, window=it))
        bench.wait(1.0)
        bench.done.clear()
        bench.reply(bench.core.line.inlet.have + 1)
        bench.wait(0.9 * seconds)
        assert bench.acks() == []
        bench.wait(0.2 * seconds)
        assert len(bench.acks()) == 1
