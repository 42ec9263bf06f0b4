"""Reports of a local queue to other nodes, and how often they are sent."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.features.queues.node.moves.stocks import REST
from mesh.features.queues.node.parts import QueueParts
from tests.mesh.features.queues.node.spread import TEN, Several


def test_an_idle_queue_is_neither_told_nor_watched() -> None:
    it = Several(2)
    (one,) = it.take(1)
    it.put(0, [1])
    it.net.until(lambda: it.had(1) == [1])
    one.settle(1, 1)
    one.leave("jobs")
    it.net.run(100)
    for node in it.nodes:
        parts = node.core.parts
        presence = parts.presence
        assert not presence.own and not presence._watching.names
        assert not parts[QueueParts].balancing._spreads and not parts[QueueParts].stocks._told


def test_a_removed_queue_leaves_nothing() -> None:
    it = Several(2)
    it.take(1, selector="a == 'b'")
    it.put(0, TEN)
    it.net.run(1)
    for boss in it.bosses:
        boss.ok(boss.ask("queue_remove", name="jobs", if_unused=False))
    it.net.run(1)
    for node in it.nodes:
        parts = node.core.parts
        assert not parts.presence.own
        assert not parts[QueueParts].balancing._spreads and not parts[QueueParts].stocks._told


def test_where_just_enough_comes_not_each_message_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    it = Several(2)
    (one,) = it.take(1, credit=1)
    it.know(0)
    one.settle(1, 1)
    presence = it.nodes[1].core.parts.presence
    told, serve = list[object](), presence.serve

    def heard(*row: Any) -> None:
        told.append(row)
        serve(*row)

    monkeypatch.setattr(presence, "serve", heard)
    start = it.net.now
    for n in range(1, 60):
        it.put(1, [n])
        it.net.until(lambda: len(it.had(1)) > n)  # noqa: B023
        one.settle(n + 1, n + 1)
    assert len(told) <= 2 * (it.net.now - start) / 0.05 + 2


def test_a_node_that_lies_about_its_wishes_moves_no_more_than_there_is() -> None:
    it = Several(2)
    it.put(0, TEN)
    presence = it.nodes[1].core.parts.presence
    for note in (
        b"\xff",
        b"\x97\xcf\xff\xff\xff\xff\xff\xff\xff\xff\x00\xcb\x00\x00\x00\x00\x00\x00\x00\x00\x90\xc3\xc2\xc2",
        b"",
    ):
        presence.serve(("queue", "jobs"), 1, note)
        it.nodes[1]._carry_out_all()
        it.net.run(3)
    assert sum(it.queue(i).part.backlog.messages for i in range(2)) == 10


def test_that_nothing_is_wanted_is_told_at_once() -> None:
    it = Several(2)
    (one,) = it.take(1, credit=1)
    it.know(0)
    it.net.run(1)
    here, there = (it.nodes[i].core.parts[QueueParts].stocks for i in (0, 1))

    def wants() -> int:
        return here.others("jobs")[it.nodes[1].uuid].wants

    assert wants() == 0
    one.settle(1, 1)
    it.net.until(wants)
    told = there._told[it.queue(1)][1]
    it.put(1, [1])
    it.net.until(lambda: not wants())
    assert it.net.now - told < REST


@pytest.mark.parametrize("interval", [0.5, 8.0])
def test_changed_figures_are_reported_once_in_the_interval_of_the_settings(interval: float) -> None:
    it = Several(2, {"queue_reports": interval})
    (one,) = it.take(1, credit=1)
    it.know(0)
    it.net.run(interval)
    here, there = (it.nodes[i].core.parts[QueueParts].stocks for i in (0, 1))

    def ready() -> int:
        return here.others("jobs")[it.nodes[1].uuid].ready

    it.put(1, TEN)
    it.net.until(lambda: ready() == 10)
    reported = there._told[it.queue(1)][1]
    it.put(1, range(11, 41))
    assert it.net.now < reported + interval / 2
    it.net.run(reported + 0.9 * interval - it.net.now)
    assert ready() == 10
    it.net.run(0.2 * interval)
    assert ready() == 40
    one.leave("jobs")
