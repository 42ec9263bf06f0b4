"""The end of a queue consumer. The test plays the node."""

from __future__ import annotations

import pytest

from mesh.client.core.delivered_envelope import ACK
from mesh.client.core.effects import Report
from mesh.errors import Closed, LeaseOver, MeshTimeout, NoQueue, NotAvailable
from mesh.wire import commands as c
from tests.mesh.client.core.benches import result
from tests.mesh.client.core.takers import STREAM, WELCOME, Bench, is_open, jobs, opened
from tools.costing.wire import WELCOME as PLAIN


def test_leaving_it_says_what_was_begun_after_what_was_said() -> None:
    bench = opened()
    bench.give(jobs(5))
    one, other = bench.take(2)
    acked = bench.say(ACK, one)
    left = bench.core.queues.end_consumption(bench.it)
    assert left is not None and bench.it.take_message() is None
    bench.wait()
    said = [s for s in bench.sent() if isinstance(s, c.Settle | c.Consume)]
    assert [type(s) for s in said] == [c.Settle, c.Consume]
    assert (said[1].credit, said[1].begun) == (0, 2)  # type: ignore[union-attr]
    with pytest.raises(LeaseOver):
        bench.say(ACK, other)
    bench.hear(c.Reply(said[1].request, {"epoch": 1}))
    assert result(left) is None and is_open(acked) and len(bench.core.queues) == 1
    bench.hear(c.Reply(said[0].request, []))
    assert result(acked) is None and len(bench.core.queues) == 0
    assert isinstance(bench.it.error, Closed)


def test_what_was_said_before_it_was_left_is_said_again_when_the_connection_breaks() -> None:
    bench = opened()
    bench.give(jobs(3))
    one, _ = bench.take(2)
    acked = bench.say(ACK, one)
    left = bench.core.queues.end_consumption(bench.it)
    bench.wait()
    asked = bench.lose()
    assert result(left) is None, "nobody waits for a node that is away"
    assert (asked.credit, asked.held) == (1, ((STREAM, (1, 1)),))
    bench.open()
    [settle] = bench.settled()
    assert settle.done == (1, 1)
    bench.answer(settle)
    assert result(acked) is None
    assert len(bench.core.queues) == 1, "the node has not heard yet that it is left"
    bench.again_with(WELCOME)
    [asked] = bench.all(c.Consume)
    assert (asked.credit, asked.begun) == (0, 1)
    bench.hear(c.Reply(asked.request, {"epoch": 0}))
    assert len(bench.core.queues) == 0


def test_left_while_the_node_is_away_it_is_told_later() -> None:
    bench = opened()
    bench.give(jobs(3))
    bench.take(2)
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    assert bench.core.queues.end_consumption(bench.it) is None
    bench.again_with(WELCOME)
    [asked] = bench.all(c.Consume)
    assert (asked.credit, asked.begun) == (0, 2)


def test_given_up_before_it_was_answered_it_is_taken_back() -> None:
    bench = Bench()
    bench.core.queues.give_up(bench.it)
    bench.wait()
    assert [asked.credit for asked in bench.all(c.Consume)] == [100, 0]
    bench.hear(c.Reply(bench.consume().request, {"epoch": 1}))
    assert len(bench.core.queues) == 0 and bench.core.calls.count == 0


def test_a_node_that_takes_too_long_to_answer_is_told_that_nobody_waits() -> None:
    bench = Bench()
    for _ in range(11):
        bench.wait(1.0)
        bench.hear(c.Pong(1))
    with pytest.raises(MeshTimeout):
        result(bench.entered)
    assert [asked.credit for asked in bench.all(c.Consume)] == [100, 0] and len(bench.core.queues) == 0


def test_a_queue_that_is_removed_ends_it_with_that_error() -> None:
    bench = opened()
    bench.give(jobs(3))
    one, other = bench.take(2)
    acked = bench.say(ACK, one)
    bench.hear(c.Ended(7, "NO_QUEUE", "jobs was removed. [NO_QUEUE]"))
    with pytest.raises(NoQueue, match=r"^jobs was removed\. \[NO_QUEUE\]$"):
        result(acked)
    assert isinstance(bench.it.error, NoQueue) and bench.it.take_message() is None
    with pytest.raises(NoQueue):
        bench.say(ACK, other)
    assert len(bench.core.queues) == 0
    bench.again_with(WELCOME)
    assert bench.all(c.Consume) == []


def test_refused_at_once_or_after_a_reconnect_it_says_why() -> None:
    bench = Bench()
    bench.hear(c.Reply(bench.consume().request, None, "NO_QUEUE", "there is no jobs [NO_QUEUE]"))
    with pytest.raises(NoQueue):
        result(bench.entered)
    bench = opened()
    bench.give(jobs(1))
    acked = bench.say(ACK, *bench.take(1))
    bench.lose(boot=2)
    bench.hear(c.Reply(bench.consume().request, None, "NO_QUEUE", "there is no jobs [NO_QUEUE]"))
    with pytest.raises(NoQueue):
        result(acked)
    assert isinstance(bench.it.error, NoQueue)


def test_the_end_of_the_client_is_the_end_of_all_who_wait() -> None:
    bench = opened()
    bench.give(jobs(1))
    acked = bench.say(ACK, *bench.take(1))
    bench.core.close()
    assert [s.done for s in bench.settled()] == [(1, 1)], "it leaves before"
    with pytest.raises(Closed):
        result(acked)


def test_a_node_of_an_earlier_release_is_asked_nothing() -> None:
    bench = opened()
    bench.give(jobs(1))
    acked = bench.say(ACK, *bench.take(1))
    bench.again_with(PLAIN)
    assert bench.all(c.Consume) == []
    with pytest.raises(NotAvailable, match="queues"):
        result(acked)
    with pytest.raises(NotAvailable, match="queues"):
        bench.core.features.check_queues()
    assert Report("disconnected", "") not in bench.done
