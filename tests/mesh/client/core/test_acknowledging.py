"""What does a client acknowledge, and when? Also once it has many subscriptions."""

from mesh.client.core.intake import Terms
from mesh.client.core.subscriptions import ACK_AFTER, ACK_AT
from mesh.wire import commands as c
from mesh.wire.frames import body_frames
from tests.mesh.client.core.benches import CoreBench
from tests.mesh.envelopes import envelope


class Acknowledging(CoreBench):
    """Some subscriptions, each of which has used up an item, and what the node is told."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.subscriptions = self.core.subscriptions
        query = c.Query("exact", "room")
        self.all = [self.subscriptions.make(query, True, Terms()) for _ in range(count)]
        self.wait(1.0)  # the connection itself is acknowledged
        for s in self.all:
            pending = self.subscriptions.enter(s)
            assert pending is not None
            self.hear(c.Reply(pending.request, {}))
            s.count()
        self.done.clear()

    def deliver(self, *seqs: int) -> None:
        """Items for the first one."""
        for seq in seqs:
            e = envelope(first=seq)
            head = c.ItemHead(body_frames(e), 0, b"m" * 16, ((1, b""),))
            self.hear(c.Items(seq, (head,)), e)

    def acks(self) -> list[c.Ack]:
        return [command for command in self.sent() if isinstance(command, c.Ack)]

    def taken(self) -> tuple[tuple[int, int], ...]:
        """What the node hears of in the next one."""
        self.subscriptions.plan_ack()
        before = len(self.acks())
        self.wait(ACK_AFTER)
        [ack] = self.acks()[before:]
        return ack.taken


def test_only_what_is_news_is_told() -> None:
    bench = Acknowledging(1_000)
    bench.deliver(*range(1, 6))
    assert len(bench.taken()) == 1_000
    bench.all[6].count()
    assert bench.taken() == ((7, 2),)
    assert bench.taken() == () and bench.acks()[-1].have == 5


def test_all_that_comes_and_is_used_within_a_moment_is_told_at_once() -> None:
    bench = Acknowledging(2)
    bench.deliver(1, 2, 3)
    for s in bench.all:
        s.count()
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
    bench.core.gone(bench.desk.now, bench.core.line.key)
    bench.wait(ACK_AFTER)
    assert bench.acks() == []
    bench.connect()
    assert bench.taken() == ((1, 1), (2, 1))
    bench.core.gone(bench.desk.now, bench.core.line.key)
    bench.all[0].count()
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
    bench.all[0].count()
    assert bench.taken() == ((1, 1),)


def test_a_client_that_is_closed_tells_what_was_used_and_then_nothing_more() -> None:
    bench = Acknowledging(1)
    bench.core.close()
    bench.all[0].count()
    bench.wait(1.0)
    assert [type(command) for command in bench.sent()] == [c.Ack, c.Bye]
    assert bench.acks() == [c.Ack(0, ((1, 1),))]
