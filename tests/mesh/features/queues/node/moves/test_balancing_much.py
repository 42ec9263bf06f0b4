"""Moves of many messages, of messages longer than memory, or of one group: complete and in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mesh.features.queues.model.envelopes import disk_index
from mesh.features.queues.model.part import delivery_order
from mesh.features.queues.node.moves import balancing
from mesh.features.queues.node.parts import QueueParts
from mesh.features.queues.node.transfers import leaving
from tests.mesh.features.queues.node.spread import Several
from tests.seeds import scenarios


def test_much_that_is_put_goes_as_fast_as_there_is_room_and_in_its_order() -> None:
    it = Several(2)
    it.take(1, credit=1000)
    it.know(0)
    (one,) = it.takers[1]
    for first in range(1, 6_001, 100):
        it.bosses[0].put("jobs", *(b"%d" % n for n in range(first, first + 100)))
    while len(it.had(1)) <= 6_000:
        given = one.given[1]
        it.net.until(lambda: one.given[1] > given)  # noqa: B023
        one.settle(1, one.given[1], wait=False)
    assert it.had(1) == list(range(6_001)) and it.sent(0) == 6_001


@pytest.mark.slow
def test_a_node_that_is_killed_on_the_way_loses_and_doubles_nothing() -> None:
    it = Several(3, redistribution=0.0)
    it.put(0, range(300))
    it.take(1, credit=100)
    it.net.until(lambda: it.had(1))
    it.nodes[1].kill()
    it.net.run(1)
    it.nodes[1].restart()
    it.take(2, credit=1000)
    it.net.until(lambda: len(it.had(2)) >= 300, limit=120)
    it.net.run(40)
    assert sorted(it.had(2)) == list(range(300)) and it.ready() == [0, 0, 0]


@pytest.mark.slow
def test_what_is_longer_than_memory_goes_part_by_part() -> None:
    it = Several(2, {"memory_bytes": 100_000}, redistribution=None)
    (one,) = it.take(1, credit=1000)
    it.know(0)
    most, part = 0, it.queue(0).part
    for n in range(1, 3_001):
        it.bosses[0].put("jobs", b"%d" % n)
    while len(it.had(1)) <= 3_000:
        it.net.run(0.02)
        most = max(most, sum(map(len, part.order.lines.values())))
        if one.given[1]:
            one.settle(1, one.given[1], wait=False)
    assert sorted(it.had(1)) == list(range(3_001)) and it.sent(0) == 3_001 and most <= 2_100


@pytest.mark.slow
def test_strict_deals_out_what_is_on_the_disk_too() -> None:
    it = Several(2, {"memory_bytes": 50_000}, distribution="strict")
    for n in range(400):
        it.bosses[0].put("jobs", b"%d" % n)
    it.net.until(lambda: it.ready() == [200, 200], limit=30)


def test_what_waits_on_the_disk_of_a_node_where_nobody_takes_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_order, "AHEAD", 100)
    monkeypatch.setattr(disk_index, "LOTS", 100)
    it = Several(2, {"memory_bytes": 50_000})
    for n in range(600):
        it.bosses[0].put("jobs", b"%d" % n)
    it.net.until(lambda: it.queue(0).part.ready == 600)
    assert it.queue(0).part.order.on_disk
    (one,) = it.take(1, credit=1000)
    most = 0
    while len(it.had(1)) < 600:
        it.net.run(0.02)
        most = max(most, sum(map(len, it.queue(0).part.order.lines.values())))
        if one.given[1]:
            one.settle(1, one.given[1], wait=False)
    assert sorted(it.had(1)) == list(range(600)) and most <= 250


def test_who_has_a_long_job_in_memory_has_others_meanwhile() -> None:
    it = Several(2, {"volatile": frozenset([""])}, distribution="independent", redistribution=0.0)
    (one,) = it.take(1, credit=2)
    it.put(0, range(6))
    for n in range(1, 6):
        it.net.until(lambda: len(it.had(1)) > n)  # noqa: B023
        one.settle(n + 1, n + 1)  # never the first
    assert it.had(1) == list(range(6))
    it.net.run(3)
    assert it.ready() == [0, 0] and it.sent(0) == 6


def test_where_it_is_in_memory_little_more_goes_than_is_wanted() -> None:
    it = Several(2, {"volatile": frozenset([""])}, distribution="independent", redistribution=0.0)
    it.take(1, credit=10)
    it.put(0, range(100))
    it.net.run(5)
    assert 10 <= it.queue(1).part.backlog.messages <= 20


def test_what_is_of_a_group_and_waits_moves_to_one_node() -> None:
    it = Several(distribution="independent", redistribution=0.0)
    for n in range(30):
        it.put(0, [n], put=(5, 0, f"g{n % 3}"))
    it.take(1, 2)
    it.net.until(lambda: len(it.had(1)) + len(it.had(2)) == 30)
    for group in range(3):
        homes = {i for i in (1, 2) for n in it.had(i) if n % 3 == group}
        assert len(homes) == 1
        (home,) = homes
        assert [n for n in it.had(home) if n % 3 == group] == list(range(group, 30, 3))


def joes(it: Several, n: int, beside: Sequence[int] = ()) -> None:
    """Put and consume `n` messages of group joe: half before the consumer at b comes, then one by one."""
    it.put(0, range(n // 2), put=(5, 0, "joe"))
    it.take(1, credit=3)
    (one,) = it.takers[1]
    for i in range(n // 2, n):
        it.put(0, [i], put=(5, 0, "joe"))
        it.put(0, beside)
        if one.given[1]:
            one.settle(1, one.given[1], wait=False)
    while len(it.had(1)) < n + (n - n // 2) * len(beside):
        given = one.given[1]
        it.net.until(lambda: one.given[1] > given)  # noqa: B023
        one.settle(1, one.given[1], wait=False)


@pytest.mark.parametrize("terms", scenarios([{}, {"distribution": "round_robin"}, {"nodes": ["b"]}]))
def test_what_is_put_of_a_group_waits_behind_what_waits_of_it(terms: dict[str, Any]) -> None:
    it = Several(2, **terms)
    joes(it, 80, beside=[1000])
    had = it.had(1)
    assert [n for n in had if n < 1000] == list(range(80))
    assert had.index(1000) < had.index(39) or "nodes" in terms  # messages without a group go past


def test_where_what_waits_never_moves_nothing_waits_behind_it() -> None:
    it = Several(2, redistribution=None)
    it.put(0, [0], put=(5, 0, "joe"))
    it.net.run(0.5)
    it.take(1)
    it.put(0, [1], put=(5, 0, "joe"))
    it.net.until(lambda: it.had(1) == [1])


def test_a_group_that_has_more_than_the_way_has_room_for_goes_in_its_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some messages wait for transfers, others stay, and later ones stay behind both."""
    monkeypatch.setattr(balancing, "WAITING", 20)
    monkeypatch.setattr(leaving, "TRANSFERS_OPEN", 100)
    it = Several(2)
    it.take(1, credit=1000)
    it.know(0)
    for n in range(1, 201):
        it.bosses[0].put("jobs", b"%d" % n, put=(5, 0, "joe"))
        if not n % 20:
            it.net.run(0.01)
    (one,) = it.takers[1]
    while len(it.had(1)) <= 200:
        given = one.given[1]
        it.net.until(lambda: one.given[1] > given)  # noqa: B023
        one.settle(1, one.given[1], wait=False)
    assert it.had(1) == list(range(201))


def test_what_waits_moves_only_where_it_may_stay_though_others_take_too() -> None:
    """By their hash, some of the eight groups would belong to nodes outside of the queue."""
    it = Several(nodes=["a", "b"], redistribution=0.0)
    for n in range(8):
        it.put(0, [n], put=(5, 0, f"g{n}"))
    it.take(2)
    it.net.run(3)
    assert it.queue(0).part.ready == 8 and it.sent(0) == 0
    ((_, why, is_cause),) = it.nodes[0].core.parts[QueueParts].balancing.reasons(it.queue(0))
    assert why == "no consumer is here; consumers at c are outside the nodes of the queue"
    assert is_cause
    it.take(1)
    it.net.until(lambda: len(it.had(1)) == 8)
    assert it.had(2) == []
