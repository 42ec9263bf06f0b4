"""Moves that are resent, return or stay unanswered: each message stays at one place."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.features.queues.node.moves.manual_moves import next_ones
from mesh.features.queues.node.parts import QueueParts
from tests.mesh.features.queues.node.pair import MEMORY, Pair, contents
from tests.mesh.features.queues.node.reader import Reader, waiting
from tests.mesh.features.queues.node.worker import Worker
from tests.simulation import SimNetwork

IN_MEMORY: dict[str, Any] = {"stores": (("jobs", MEMORY),), "volatile": frozenset((MEMORY,))}


@pytest.mark.parametrize("is_restarted", [False, True])
def test_what_is_back_before_its_first_way_has_ended_is_twice_in_a_part_and_each_is_what_it_is(
    is_restarted: bool,
) -> None:
    """The departing and the arrived copy are recorded by position, not by message."""
    p = Pair(at_b=IN_MEMORY)
    p.put(3)
    assert p.move()["going"] == 3 and p.figures(p.b) == (3, 0)
    p.at_b.asks("queue_move", name="jobs", to="a")
    p.net.until(lambda: p.figures(p.a) == (3, 3))
    if is_restarted:
        p.a.restart()
    p.net.until(lambda: p.rested(3, 0))
    p.a.restart()
    p.net.until(lambda: p.rested(3, 0))
    assert [
        queued.moves for queued in p.a.core.parts[QueueParts].queues.get("jobs").part.order.ready_envelopes()
    ] == [2, 2, 2]
    assert sorted(content for content, _ in p.take_all(Worker(p.a, "ann"))) == contents(3)


def test_C4_1_who_is_named_for_what_is_kept_and_says_nothing_is_waited_for_and_no_other_is_named() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    boss = Reader(a, "boss")
    boss.ok(boss.durable("audit"))
    assert boss.published(b"1") == boss.published(b"2") == "OK"
    queue = a.core.parts[QueueParts].queues.get("sub/audit")
    net.until(lambda: a.core.parts[QueueParts].moving.can_take(b.uuid))
    b.kill()
    assert a.core.parts[QueueParts].moving.begin_transfers(queue, b.uuid, next_ones(queue.part, 2)) == 2
    a._carry_out_all()
    ann = Reader(c, "ann")
    ann.take("sub/audit")
    net.run(90)  # longer than any other wait
    assert (queue.part.ready, queue.part.moving.messages) == (0, 2) and ann.contents() == []
    b.start()
    net.until(lambda: ann.contents() == [b"1", b"2"])
    assert ann.tries[1] == [0, 0]
    ann.settle(1, 2)
    net.until(lambda: waiting(a, b, c) == {})
