"""Searches for selectors: a match is found behind messages without a match, with few reads."""

from math import inf

import pytest

from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.envelopes.expiring import SPARE
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part import searching
from mesh.features.queues.model.part.giving import deliver
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.features.queues.model.part.searching import REST
from mesh.routing.memory import Memory
from tests.mesh.features.queues.model.making import WALL, numbers, queued, taker

MEMORY = 5_000


class Disk:
    """A queue with more messages than its memory holds, whose kinds are the letters of `kinds`."""

    def __init__(self, kinds: str, size: int = 1, memory: float = MEMORY, group: str = "") -> None:
        self.memory = Memory(memory)
        self.it = LocalQueue("jobs", QueueTerms(), self.memory)
        self.group = group
        self.envelopes: dict[int, QueuedEnvelope] = {}
        self.size = size
        self.reads: list[int] = []  # number of messages of each read
        self.now = 0.0
        self.put(kinds)

    def put(self, kinds: str) -> None:
        for i in range(0, len(kinds), self.size):
            first = len(self.envelopes) * self.size + 1
            each = queued(first, self.size, first, kinds=kinds[i : i + self.size], put=(5, 0, self.group))
            self.envelopes[first] = each
            if self.it.backlog.may_page(each):
                self.it.backlog.page(each)
            else:
                self.it.add(each, 0.0, WALL)

    def turn(self) -> list[int]:
        """Return the messages that are delivered in one event, and complete the read that follows it."""
        came = numbers(self.it, self.now)
        search = self.it.search.next_read(self.now) if self.it.search.seeks else None
        self.it.backlog.changed.clear()
        self.it.search.evict_unwanted()
        if search is not None:
            envelopes = [QueuedEnvelope(self.envelopes[position].stored) for position in search.positions]
            self.reads.append(sum(each.left for each in envelopes))
            self.it.search.finish_read(search, envelopes, self.now, WALL)
        return came

    def all_turns(self) -> list[int]:
        """Run turns while there is anything to search, and return all deliveries."""
        came = self.turn()
        for _ in range(10_000):
            reads = len(self.reads)
            came += (more := self.turn())
            if self.it.search.looks_at < inf:
                self.now = max(self.now, self.it.search.looks_at)
            elif not more and len(self.reads) == reads:
                return came
        raise AssertionError("it does not end")


def test_what_is_wanted_is_found_behind_all_that_nobody_takes_and_in_order() -> None:
    disk, joe = Disk("a" * 300 + "bab" + "a" * 300 + "b"), taker(selector="kind == 'b'")
    disk.it.consumers.add_consumer(joe)
    assert disk.all_turns() == [301, 303, 604]
    assert disk.memory.used < MEMORY + 4 * queued().cost
    disk.it.deliveries.ack(joe, 1, 3)
    assert (disk.it.backlog.messages, disk.it.backlog.picked) == (601, {})


def test_nothing_is_read_twice_and_what_is_new_once() -> None:
    disk, joe = Disk("a" * 3_000), taker(selector="kind == 'b'")
    disk.it.consumers.add_consumer(joe)
    assert disk.all_turns() == []
    assert sum(disk.reads) == disk.it.backlog.messages - sum(map(len, disk.it.order.lines.values()))
    before = len(disk.reads)
    assert disk.all_turns() == [] and len(disk.reads) == before
    disk.put("aab")
    assert disk.all_turns() == [3_003] and disk.reads[before:] == [3]


def test_a_turn_is_short_and_after_many_in_vain_there_is_a_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    vain = 4 * searching.MESSAGES
    monkeypatch.setattr(searching, "VAIN", vain)
    disk, joe = Disk("a" * (vain + 600)), taker(selector="kind == 'b'")
    disk.it.consumers.add_consumer(joe)
    while joe.vain < vain:
        assert disk.turn() == []
        assert max(disk.reads, default=0) <= searching.MESSAGES
    assert disk.now == 0.0 and disk.it.search.in_vain()[0] == joe.vain
    assert disk.turn() == [] and joe.rests == REST
    reads = len(disk.reads)
    for _ in range(9):  # whatever else happens
        assert disk.turn() == [] and len(disk.reads) == reads
    assert disk.it.due == disk.it.search.looks_at == REST and disk.it.search.in_vain() == (joe.vain, True)
    disk.now = REST
    assert disk.turn() == [] and len(disk.reads) == reads + 1
    assert disk.all_turns() == [] and disk.it.search.in_vain() == (vain + 600, False)
    assert disk.it.due == inf


def test_a_turn_is_short_in_memory_too_and_nobody_waits_behind_it() -> None:
    disk = Disk("a" * (3 * searching.MESSAGES) + "c", memory=inf)
    joe, ann = taker(selector="kind == 'b'"), taker("ann", selector="kind == 'a'", credit=5)
    disk.it.consumers.add_consumer(joe)
    assert disk.turn() == [] and joe.vain == searching.MESSAGES and disk.it.due == 0.0
    disk.it.consumers.add_consumer(ann)
    joe.rests = 1.0
    assert disk.turn() == [1, 2, 3, 4, 5]
    disk.now = 1.0
    assert disk.all_turns() == [] and joe.vain == 3 * searching.MESSAGES + 1


def test_of_a_lot_the_rest_goes_back_to_its_place_and_has_not_forgotten_what_is_done() -> None:
    disk = Disk("a" * 40 + "aabb" + "a" * 40, size=4)
    joe, ann = taker(selector="kind == 'b'"), taker("ann", credit=100)
    disk.it.consumers.add_consumer(joe)
    assert disk.all_turns() == [43, 44]
    disk.it.deliveries.ack(joe, 1, 1)
    disk.turn()
    assert len(disk.it.backlog.picked) == 1
    disk.it.deliveries.ack(joe, 2, 2)
    used = disk.memory.used
    disk.turn()
    assert not disk.it.backlog.picked and disk.memory.used == used - disk.envelopes[41].cost
    assert len(disk.it.order.on_disk.rows) == 1
    disk.it.consumers.add_consumer(ann)
    came: list[int] = []
    for _ in range(9):
        came += disk.turn()
        wish = disk.it.order.to_load()
        if wish is not None:
            disk.it.backlog.loaded(
                wish[0], [QueuedEnvelope(disk.envelopes[p].stored) for p in wish[1]], 0.0, WALL
            )
    assert came == [n for n in range(1, 85) if n not in (43, 44)]
    disk.it.deliveries.ack(ann, 1, 82)
    assert (
        disk.it.backlog.messages,
        disk.it.backlog.bytes,
        disk.memory.used,
        disk.it.order.on_disk.rows,
    ) == (0, 0, 0, {})


def test_what_was_found_for_somebody_who_goes_is_on_the_disk_alone_again() -> None:
    disk, joe = Disk("a" * 100 + "b" * 50), taker(selector="kind == 'b'", credit=2)
    disk.it.consumers.add_consumer(joe)
    assert disk.all_turns() == [101, 102]
    assert len(disk.it.backlog.picked) == 50
    used = disk.memory.used
    disk.it.consumers.close(joe)
    disk.turn()
    assert not disk.it.backlog.picked and disk.memory.used < used - 40 * queued().cost
    ann = taker("ann", selector="kind == 'b'", credit=100)
    disk.it.consumers.add_consumer(ann)
    assert disk.all_turns() == list(range(101, 151))


def test_who_takes_all_is_given_nothing_before_what_stands_before_it_on_the_disk() -> None:
    disk, joe = Disk("a" * 100 + "b" * 50), taker(selector="kind == 'b'", credit=2)
    disk.it.consumers.add_consumer(joe)
    assert disk.all_turns() == [101, 102]
    disk.it.deliveries.nack(joe, 1, 1, 0.0, 0.0, WALL)
    disk.it.consumers.add_consumer(taker("ann", credit=100))
    bob = taker("bob", selector="kind == 'b' or kind == 'a'", credit=9)
    disk.it.consumers.add_consumer(bob)
    here = len(disk.it.order.line(5)) - len(disk.it.backlog.picked)
    assert [n for who, _, runs in deliver(disk.it, 0.0, WALL) if who is not joe for n, _ in runs] == list(
        range(1, here + 1)
    )


def test_who_takes_all_is_given_nothing_before_its_turn_though_who_wanted_it_has_just_gone() -> None:
    disk, joe = Disk("a" * 100 + "b" * 50), taker(selector="kind == 'b'", credit=2)
    disk.it.consumers.add_consumer(joe)
    assert disk.all_turns() == [101, 102]
    here = len(disk.it.order.line(5)) - len(disk.it.backlog.picked)
    disk.it.consumers.close(joe)
    disk.it.consumers.add_consumer(taker("ann", credit=100))
    assert numbers(disk.it) == list(range(1, here + 1))


def test_what_was_found_for_one_who_goes_stays_for_another_who_has_seen_it() -> None:
    disk = Disk("a" * 100 + "b" * 50)
    joe, ann = (taker(name, selector="kind == 'b'", credit=1) for name in ("joe", "ann"))
    disk.it.consumers.add_consumer(joe)
    disk.it.consumers.add_consumer(ann)
    assert disk.all_turns() == [101, 102]
    disk.it.consumers.close(joe, 0)
    disk.turn()
    came = []
    for n in range(1, 50):
        disk.it.deliveries.ack(ann, n, n)
        came += disk.all_turns()
    assert sorted(came) == [n for n in range(101, 151) if n != 102]


def test_there_is_a_bound_to_what_was_found_and_cannot_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "IDLE", 20_000)
    monkeypatch.setattr(searching, "MESSAGES", 10)
    disk = Disk("b" * 500, group="g")
    joe, ann = taker(selector="kind == 'b'", credit=1), taker("ann", selector="kind == 'b'", credit=1)
    disk.it.consumers.add_consumer(joe)
    disk.it.consumers.add_consumer(ann)
    disk.all_turns()
    assert disk.memory.used <= MEMORY + 20_000 + 11 * queued().cost


def test_what_is_done_is_not_kept_until_it_would_be_void() -> None:
    it, joe = LocalQueue("jobs", QueueTerms(expiry=3600.0)), taker(credit=1_000)
    it.consumers.add_consumer(joe)
    for n in range(1, 2_500):
        it.add(queued(n), 0.0, WALL)
        assert numbers(it) == [n]
        it.deliveries.ack(joe, n, n)
    assert len(it.backlog.expiring._heap) <= 2 * SPARE


def test_who_has_no_room_is_read_nothing_for() -> None:
    disk, joe = Disk("a" * 100 + "b" * 50), taker(selector="kind == 'a'", credit=2)
    disk.it.consumers.add_consumer(joe)
    assert disk.all_turns() == [1, 2] and disk.reads == []
