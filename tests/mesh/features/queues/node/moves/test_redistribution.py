"""Waiting messages that move, and nodes that get none now."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from mesh.features.queues.model.envelopes.counts import Runs
from mesh.features.queues.model.looking.rates import RateMeter
from mesh.features.queues.model.moves.queue_report import QueueReport
from mesh.features.queues.node.moves.redistribution import EVERY, Redistribution
from mesh.features.queues.node.moves.spread import QueueSpread
from tests.mesh.features.queues.model.making import queue, queued

NOW = 100.0


def moves(
    report: QueueReport, spread: QueueSpread, moving: tuple[bytes, ...] = (), n: int = 4
) -> list[tuple[bytes, list[Runs]]]:
    """Return the moves to the node `b"n"`, which sends `report`. This node has no consumer."""
    loads: list[object] = []
    here = SimpleNamespace(
        part=queue(queued(1, n), redistribution=0.0),
        traffic=SimpleNamespace(pace=RateMeter(1.0), finished=0),
        reading=SimpleNamespace(load_more=loads.append),
    )
    spread.since = spread.ready_since = 0.0
    context = SimpleNamespace(clock=SimpleNamespace(now=NOW), event=None)
    places = SimpleNamespace(meant=lambda queue: {b"n": report})
    found = Redistribution(cast(Any, context), cast(Any, places)).next_moves(cast(Any, here), spread, moving)
    dealt = [(node, [runs for _, runs in pieces]) for node, pieces in found]
    assert len(loads) == bool(dealt), "more is read for what moves, and for nothing else"
    return dealt


def test_as_many_messages_move_as_the_node_wants() -> None:
    assert moves(QueueReport(wants=3), QueueSpread(b"me")) == [(b"n", [[(1, 3)]])]


@pytest.mark.parametrize("report", [QueueReport(), QueueReport(wants=3, is_leaving=True)])
def test_nothing_moves_to_a_node_that_wants_nothing_or_leaves(report: QueueReport) -> None:
    assert moves(report, QueueSpread(b"me")) == []


def test_nothing_moves_to_a_node_that_has_refused_or_has_a_transfer_in_progress() -> None:
    refused = QueueSpread(b"me")
    refused.refusals.close_node(b"n", NOW)
    assert moves(QueueReport(wants=3), refused) == []
    assert moves(QueueReport(wants=3), QueueSpread(b"me"), moving=(b"n",)) == []


def test_a_volatile_queue_is_busy_for_a_moment_and_not_until_its_messages_are_settled() -> None:
    volatile, spread = QueueReport(wants=3, is_volatile=True), QueueSpread(b"me")
    assert moves(volatile, spread, moving=(b"n",)) and spread.sent == {b"n": NOW}
    assert moves(volatile, spread) == []
    spread.sent[b"n"] = NOW - EVERY
    assert moves(volatile, spread)
