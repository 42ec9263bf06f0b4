"""Messages that exceed the memory limit wait on disk only, and are delivered in order."""

from math import inf

import pytest

from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.envelopes import disk_index
from mesh.features.queues.model.envelopes.disk_index import Wish
from mesh.features.queues.model.envelopes.paged import ROWS, PagedEnvelopes
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part import delivery_order
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.routing.memory import Memory
from tests.mesh.features.queues.model.making import WALL, numbers, queued, taker

S = 10**9


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_order, "AHEAD", 2)
    monkeypatch.setattr(disk_index, "LOTS", 3)


def put(it: LocalQueue, *envelopes: QueuedEnvelope) -> dict[int, QueuedEnvelope]:
    """Put envelopes as a node does, and return all of them by position, as on its disk."""
    for each in envelopes:
        if it.backlog.may_page(each):
            it.backlog.page(each)
        else:
            it.add(each, 0.0, WALL)
    return {each.stored.position: each for each in envelopes}


def read(it: LocalQueue, disk: dict[int, QueuedEnvelope], wish: Wish | None) -> None:
    if wish is not None:
        it.backlog.loaded(wish[0], [QueuedEnvelope(disk[position].stored) for position in wish[1]], 0.0, WALL)


def test_all_comes_in_order_and_memory_has_its_bound() -> None:
    memory = Memory(5_000)
    it, joe = LocalQueue("jobs", QueueTerms(), memory), taker(credit=1)
    disk = put(it, *(queued(n) for n in range(1, 60)))
    assert it.ready == it.backlog.messages == 59
    it.consumers.add_consumer(joe)
    got: list[int] = []
    for _ in range(200):
        assert memory.used < 5_000 + 6 * queued(1).cost
        wish = it.order.to_load()
        got += (came := numbers(it))
        if len(got) == 30:
            disk |= put(it, queued(60))  # behind all that waits, though there is space
        read(it, disk, wish)
        for _ in came:
            it.deliveries.ack(joe, len(got), len(got))
    assert got == list(range(1, 61))
    assert (it.backlog.messages, it.backlog.bytes, memory.used) == (0, 0, 0)


def test_what_comes_while_the_last_ones_are_read_comes_behind_them() -> None:
    memory = Memory(2_000)
    it, joe = LocalQueue("jobs", QueueTerms(), memory), taker(credit=1)
    disk = put(it, queued(1), queued(2), queued(3))
    it.consumers.add_consumer(joe)
    assert numbers(it) == [1]
    wish = it.order.to_load()
    it.deliveries.ack(joe, 1, 1)
    disk |= put(it, queued(4))
    assert numbers(it) == []
    read(it, disk, wish)
    assert numbers(it) == [2]
    it.deliveries.ack(joe, 2, 2)
    assert numbers(it) == [3]


def test_of_higher_priority_comes_first_from_the_disk_too() -> None:
    it, joe = LocalQueue("jobs", QueueTerms(), Memory(1_200)), taker(credit=9)
    high = (9, 0, "")
    disk = put(it, queued(1), queued(2), queued(3, put=high), queued(4, put=high))
    it.consumers.add_consumer(joe)
    assert numbers(it) == []  # those of high priority are being read
    read(it, disk, it.order.to_load())
    assert numbers(it) == [3, 4, 1]
    read(it, disk, it.order.to_load())
    assert numbers(it) == [2]


def test_what_is_void_is_read_to_be_buried_and_the_rest_stays() -> None:
    it = LocalQueue("jobs", QueueTerms(), Memory(0))
    soon = WALL + 2 * S
    disk = put(
        it,
        queued(1),
        queued(2, expires=soon),
        queued(3),
        queued(4, expires=soon),
        queued(5, expires=soon + 9 * S),
    )
    assert it.order.on_disk.void_to_load(soon - 1) is None
    wish = it.order.on_disk.void_to_load(soon)
    assert wish is not None and wish[1] == (2, 4)
    assert it.order.on_disk.void_to_load(soon) is None
    read(it, disk, wish)
    it.tick(0.0, soon)
    assert [dead.runs for dead in it.failures.dead] == [[(2, 2)], [(4, 4)]]
    assert it.backlog.messages == 5
    for dead in it.failures.dead:
        it.failures.buried(dead)
    assert it.backlog.messages == it.ready == 3


@pytest.mark.parametrize(
    ("times", "expiry", "void"),
    [((2, 5), None, 5), ((5, 2), None, 5), ((2, 0), None, None), ((2, 0), 4.0, 4), ((2, 9), 4.0, 4)],
)
def test_what_is_not_void_does_not_come_before_its_time_with_what_is(
    times: tuple[int, ...], expiry: float | None, void: int | None
) -> None:
    it, joe = LocalQueue("jobs", QueueTerms(expiry=expiry), Memory(0)), taker()
    mixed = queued(2, 2, times=tuple(WALL + at * S if at else 0 for at in times))
    disk = put(it, queued(1), mixed) if expiry is None else put(it, mixed)
    if void is None:
        assert it.order.on_disk.void_to_load(WALL + 10**6 * S) is None
        return
    assert it.order.on_disk.void_to_load(WALL + void * S - S) is None
    read(it, disk, it.order.on_disk.void_to_load(WALL + void * S + S))
    it.tick(0.0, WALL + void * S + S)
    it.consumers.add_consumer(joe)
    assert numbers(it) == []
    assert [dead.runs for dead in it.failures.dead] == [[(2, 3)]]


def test_a_purge_takes_what_is_on_the_disk_and_what_is_being_read() -> None:
    memory = Memory(2_000)
    it = LocalQueue("jobs", QueueTerms(), memory)
    disk = put(it, *(queued(n) for n in range(1, 9)))
    wish = it.order.to_load()
    assert it.backlog.purge() == 5
    read(it, disk, wish)
    assert (it.backlog.messages, it.backlog.bytes, it.ready, memory.used) == (0, 0, 0, 0)
    assert it.order.on_disk.take_purged(3) + it.order.on_disk.take_purged(9) == (5, 6, 7, 8)
    assert it.order.on_disk.take_purged(9) == ()


def test_each_takes_18_bytes() -> None:
    it = PagedEnvelopes()
    for n in range(3 * ROWS):
        it.add(n, n, 1, 100, 0)
    assert (len(it), it.oldest, it.last(5), it.last(10**9)) == (3 * ROWS, 0, 5, 3 * ROWS - 1)
    size = sum(
        sum(column.itemsize * len(column) for column in (page._places, page.sent, page.counts, page.sizes))
        for page in it._pages
    )
    assert size == 18 * len(it)
    assert it.take_positions(10**6, 10**9) == tuple(range(3 * ROWS))
    assert (len(it), it.messages, it.bytes) == (0, 0, 0)


def test_what_has_moved_and_is_read_again_counts_as_having_come_just_now() -> None:
    moved, fresh = queued(1), queued(2)
    moved.moves = 1
    made = LocalQueue("jobs", QueueTerms())
    for each in (moved, fresh):
        made.backlog.page(each)
    wish = made.order.to_load()
    assert wish is not None
    made.backlog.loaded(wish[0], [moved, fresh], 100.0, WALL)
    assert (moved.came, fresh.came) == (100.0, -inf)
    arrived = queued(3)
    arrived.moves, arrived.came = 1, 90.0
    made.add(arrived, 100.0, WALL)
    assert arrived.came == 90.0


def test_what_was_taken_out_can_be_put_back_though_nothing_else_is_left() -> None:
    it = PagedEnvelopes()
    it.reinsert(7, 70, 2, 200, 5)
    it.reinsert(3, 30, 1, 100, 0)
    assert (it.messages, it.bytes, it.oldest) == (3, 300, 30)
    assert it.take_out(3) and it.take_out(7) and not it and (it.messages, it.bytes) == (0, 0)
    it.reinsert(7, 70, 2, 200, 0)
    assert it.take_positions(5, 1_000) == (7,)


def test_the_memory_budget_holds_the_cost_of_envelopes_in_memory_and_of_no_others() -> None:
    memory = Memory(inf)
    it, a, b = LocalQueue("jobs", QueueTerms(), memory), queued(1, 2), queued(3)
    it.add(a, 0.0, WALL)
    it.backlog.page(queued(2))
    it.backlog.page(b)
    size = a.size + 2 * b.size
    assert (it.backlog.messages, it.backlog.bytes, memory.used) == (4, size, a.cost)
    assert it.backlog.keep_ahead(queued(3), 0.0, WALL) and not it.backlog.keep_ahead(queued(3), 0.0, WALL)
    assert memory.used == a.cost + b.cost
    it.backlog.evict_picked(next(iter(it.backlog.picked)))
    assert (it.backlog.messages, memory.used) == (4, a.cost)
    a.take_out([(1, 1)])
    assert it.backlog.done(a, [(1, 1)]) == 1 and it.backlog.bytes == size
    it.backlog.finish_ready(a)
    assert (it.backlog.messages, it.backlog.bytes, memory.used) == (2, 2 * b.size, 0)
    assert [*it.backlog.take_changed()] == [a] and not it.backlog.changed


def test_the_stored_state_of_a_picked_envelope_leaves_the_memory() -> None:
    it = LocalQueue("jobs", QueueTerms(), Memory(inf))
    changed = queued(1, 2)
    changed.may_have_been_given([(1, 1)])
    it.backlog.page(changed)
    assert [*it.order.on_disk.rows] == [1]
    found = queued(1, 2)
    it.backlog.remember(found)
    assert it.backlog.keep_ahead(found, 0.0, WALL) and not it.order.on_disk.rows


def test_a_picked_envelope_whose_turn_has_come_does_not_return_to_disk() -> None:
    it = LocalQueue("jobs", QueueTerms(), Memory(inf))
    it.backlog.page(queued(1))
    it.backlog.page(queued(2))
    found = queued(1)
    assert it.backlog.keep_ahead(found, 0.0, WALL)
    it.backlog.evict_picked(found)
    assert not it.backlog.picked and [*it.order.ready_envelopes()] == [found], "nothing on disk is before it"


def test_a_pledge_is_redeemed_with_the_last_message_or_when_its_node_stops_keeping_it() -> None:
    it, a, b = LocalQueue("jobs", QueueTerms()), queued(1, 2), queued(3)
    for number, each in enumerate((a, b)):
        it.backlog.pledges.add(each, b"n", number)
        it.add(each, 0.0, WALL)
    assert not it.backlog.may_page_moved(a), "it must not be read again while it is pledged"
    a.take_out([(1, 2)])
    it.backlog.done(a, [(1, 1)])
    assert it.backlog.pledges.take_redeemed() == []
    it.backlog.done(a, [(2, 2)])
    assert it.backlog.pledges.take_redeemed() == [(b"n", 0)]
    it.backlog.pledges.redeem_moves(b"m", {1})
    it.backlog.pledges.redeem_moves(b"n", {2})
    assert it.backlog.pledges.take_redeemed() == [] and b in it.backlog.pledges.open
    it.backlog.pledges.redeem_moves(b"n", {1})
    assert it.backlog.pledges.take_redeemed() == [(b"n", 1)]
