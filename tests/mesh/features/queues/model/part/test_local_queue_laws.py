"""Laws of a local queue under random operations: no message is lost, with two consumers, or redone."""

from dataclasses import dataclass, field
from math import inf
from random import Random

import pytest

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.envelopes import disk_index
from mesh.features.queues.model.envelopes.counts import numbers_of
from mesh.features.queues.model.envelopes.disk_index import Wish
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part import delivery_order, searching
from mesh.features.queues.model.part.failed_deliveries import DeadMessages
from mesh.features.queues.model.part.giving import deliver
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.features.queues.model.part.searching import Search
from mesh.routing.memory import Memory
from mesh.routing.stored_envelope import StoredEnvelope
from tests.mesh.features.queues.model.making import WALL, queued, taker
from tests.seeds import scenarios

Place = tuple[int, int]  # position and number
STEPS = 120
REST = 60  # idle rounds: 30 s, longer than any delay


def places(dead: DeadMessages) -> set[Place]:
    return {(dead.queued.stored.position, n) for n in numbers_of(dead.runs)}


@dataclass
class Scenario:
    """A queue, and a record of each message as seen from outside."""

    dice: Random
    it: LocalQueue
    now: float = 0.0
    next: int = 1
    at: int = 0
    epoch: int = 0
    all: dict[Place, int] = field(default_factory=dict)  # message -> number of deliveries
    has: dict[Place, tuple[QueueConsumer, int]] = field(default_factory=dict)  # consumer and delivery tag
    done: set[Place] = field(default_factory=set)
    going: dict[int, tuple[QueuedEnvelope, list[Place]]] = field(default_factory=dict)  # number of the move
    disk: dict[int, QueuedEnvelope] = field(default_factory=dict)  # as they were put, until purged
    reading: list[Wish] = field(default_factory=list)
    searching: list[Search] = field(default_factory=list)
    kinds: dict[Place, str] = field(default_factory=dict)
    last: dict[tuple[QueueConsumer, int], Place] = field(default_factory=dict)  # last new one, by priority
    were_away: set[Place] = field(default_factory=set)  # messages that came back

    @property
    def wall(self) -> int:
        return WALL + int(self.now * 10**9)

    def put(self) -> None:
        """Put a few messages, or every second one of twice as many, as if the others had moved elsewhere."""
        n, step = self.dice.choice((1, 1, 3, 8)), self.dice.choice((1, 1, 2))
        priority, delay = self.dice.choice((5, 5, 7)), self.dice.choice((0, 0, 0, 2_000))
        group = self.dice.choice(("", "", "g", "h"))
        self.at += 1
        kinds = "".join(self.dice.choice("ab") for _ in range(n * step))
        expires = self.dice.choice((0, 0, 0, WALL + int((self.now + 3) * 10**9)))
        whole = queued(
            self.next, n * step, self.at, put=(priority, delay, group), kinds=kinds, expires=expires
        )
        new = QueuedEnvelope(StoredEnvelope(whole.envelope.cut(range(0, n * step, step)), self.at))
        self.all.update({(self.at, number): 0 for number in numbers_of(new.open())})
        self.kinds.update({(self.at, self.next + i): kind for i, kind in enumerate(kinds)})
        self.next += n * step
        self.disk[self.at] = new
        if self.it.backlog.may_page(new):
            self.it.backlog.page(new)
        else:
            self.it.add(new, self.now, self.wall)

    def read(self) -> None:
        """Complete the reads from disk."""
        while self.reading:
            priority, positions = self.reading.pop()
            envelopes = [QueuedEnvelope(self.disk[position].stored) for position in positions]
            self.it.backlog.loaded(priority, envelopes, self.now, self.wall)
        self.reading += filter(None, (self.it.order.to_load(), self.it.order.on_disk.void_to_load(self.wall)))

    def search(self) -> None:
        """Complete the reads for selectors."""
        while self.searching:
            it = self.searching.pop()
            envelopes = [QueuedEnvelope(self.disk[position].stored) for position in it.positions]
            self.it.search.finish_read(it, envelopes, self.now, self.wall)
        self.searching += filter(None, [self.it.search.next_read(self.now)])

    def come(self) -> None:
        """Open a consumer, perhaps again, with some messages that it had and some that it had not."""
        name = self.dice.choice(("joe", "ann", "bob"))
        old = self.it.takers.get(name.encode())
        self.epoch += 1
        selector = self.dice.choice(("", "", "kind == 'b'"))
        lease = self.dice.choice((inf, 2.0))
        credit = self.dice.choice((1, 4, 9))
        new = taker(name, credit, selector, lease, self.epoch)
        mine = [place for place, (who, _) in self.has.items() if who is old]
        kept = self.dice.sample(mine, self.dice.randint(0, min(credit, len(mine))))
        asked = [(b"p" * 16, (n, n)) for _, n in kept] + [(b"p" * 16, (10**6, 10**6))]
        assert self.it.consumers.add_consumer(new, asked) == [len(kept) + 1]
        for place in mine:
            del self.has[place]
        for count, place in enumerate(kept, 1):
            self.has[place] = new, count

    def go(self) -> None:
        """Close a consumer."""
        if self.it.takers:
            who = self.dice.choice(list(self.it.takers.values()))
            self.it.consumers.close(who, self.dice.choice((inf, 0, who.holding.given // 2)))
            self.has = {place: held for place, held in self.has.items() if held[0] is not who}

    def settle(self) -> None:
        """Settle a delivery in one of several ways."""
        if not self.has:
            return
        place, (who, count) = self.dice.choice(list(self.has.items()))
        what, its = self.dice.randrange(4), self.it.deliveries
        others = {
            0: lambda: its.ack(who, count, count),
            1: lambda: its.nack(who, count, count, self.dice.choice((0.0, 2.0)), self.now, self.wall),
            2: lambda: its.reject(who, count, count, ""),
            3: lambda: its.extend(who, count, count, self.now + 5.0),
        }[what]()
        assert others == []
        if what == 0:
            self.done.add(place)
        if what != 3:
            del self.has[place]

    def wait(self) -> None:
        """Let time pass, and so end overdue leases."""
        self.now += self.dice.choice((0.1, 1.0))
        self.it.tick(self.now, self.wall)
        out = {
            (run.queued.stored.position, number)
            for t in self.it.takers.values()
            for run in t.holding
            for number in numbers_of(run.runs)
        }
        self.has = {place: held for place, held in self.has.items() if place in out}

    def go_elsewhere(self) -> None:
        """Move some ready messages to another node."""
        if (first := next(self.it.order.ready_envelopes(), None)) is not None:
            runs = first.first_ready(self.dice.choice((1, 2, 10)))
            number = len(self.going) + self.at * 1000 + self.dice.randrange(1000)
            if number not in self.going:
                self.it.moving.start_transfer(first, runs, b"n", number)
                places = [(first.stored.position, n) for a, b in runs for n in range(a, b + 1)]
                self.going[number] = first, places

    def hear(self) -> None:
        """Finish a move, or return its messages."""
        if self.going:
            number = self.dice.choice(list(self.going))
            its, places = self.going.pop(number)
            if self.dice.random() < 0.5:
                self.it.moving.finish_moved(its, b"n", number)
                self.done |= set(places)
            else:
                self.it.moving.came_back(
                    its, self.it.moving.record_refused_transfer(its, b"n", number, is_sure=True)
                )
                self.were_away |= set(places)

    def bury(self) -> None:
        """Bury the dead messages."""
        dead, self.it.failures.dead = self.it.failures.dead, []
        for each in dead:
            self.it.failures.buried(each)
            self.done |= places(each)

    def purge(self) -> None:
        if self.dice.random() < 0.1:
            moving = {place for _, places in self.going.values() for place in places}
            waits = {place for place in self.all if place not in self.done and place not in self.has} - moving
            dead = {
                (d.queued.stored.position, n)
                for d in self.it.failures.dead
                for a, b in d.runs
                for n in range(a, b + 1)
            }
            read = {position for _, positions in self.reading for position in positions}
            self.it.backlog.purge()
            self.done |= {place for place in waits - dead if place[0] not in read}
            assert self.it.backlog.messages == len(self.all) - len(self.done)
            self.read()  # these reads are no longer wanted
            self.done |= waits - dead

    def give(self) -> None:
        for who, its, runs in deliver(self.it, self.now, self.wall):
            column = its.column(runs)
            numbers = [n for first, last in runs for n in range(first, last + 1)]
            for i, number in enumerate(numbers):
                place = its.stored.position, number
                assert place not in self.has, "with two at once"
                assert all(place not in places for _, places in self.going.values()), "given while it moves"
                assert place not in self.done, "given though it is done"
                if column and column[i]:
                    assert self.all[place], "called given before"
                if not (self.all[place] or its.delay or its.group or place in self.were_away):
                    assert self.last.get((who, its.priority), (0, 0)) < place, "before one that comes first"
                    self.last[who, its.priority] = place
                self.all[place] += 1
                self.has[place] = who, who.holding.given - len(numbers) + 1 + i

        self.it.backlog.changed.clear()  # written
        self.it.search.evict_unwanted()

    def check(self) -> None:
        it, waits = self.it, [place for place in self.all if place not in self.done]
        assert it.backlog.messages == len(waits)
        assert it.deliveries.out == len(self.has) == sum(who.busy for who in it.takers.values())
        assert all(who.busy <= who.credit for who in it.takers.values())
        assert it.backlog.bytes == sum(
            self.disk[position].size for position in {position for position, _ in waits}
        )
        assert it.moving.messages == sum(len(places) for _, places in self.going.values())
        assert (
            it.ready + it.deliveries.out + it.backlog.later.messages + it.failures.dying + it.moving.messages
            == len(waits)
        )
        if not it.order.on_disk.has(5) and not it.order.on_disk.has(7):
            assert bool(it.backlog.groups) == any(self.disk[position].group for position, _ in waits)


@pytest.mark.parametrize("seed", scenarios(range(200), 16))
def test_nothing_is_lost_or_with_two_whatever_happens(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_order, "AHEAD", 2)
    monkeypatch.setattr(disk_index, "LOTS", 3)
    monkeypatch.setattr(searching, "MESSAGES", 6)
    monkeypatch.setattr(searching, "VAIN", 12)
    monkeypatch.setattr(searching, "IDLE", 5_000)
    memory = Memory((inf, 5_000)[seed % 2])
    scenario = Scenario(Random(seed), LocalQueue("jobs", QueueTerms(max_attempts=4), memory))
    for _ in range(STEPS):
        what = (
            scenario.put,
            scenario.put,
            scenario.come,
            scenario.settle,
            scenario.settle,
            scenario.settle,
            scenario.wait,
            scenario.bury,
        )
        others = (
            scenario.go,
            scenario.purge,
            scenario.read,
            scenario.search,
            scenario.go_elsewhere,
            scenario.hear,
        )
        scenario.dice.choice((*what, *others))()
        scenario.check()
        scenario.give()
        scenario.check()
    _at_the_end_all_comes(scenario)


def _at_the_end_all_comes(scenario: Scenario) -> None:
    """Check that a consumer with a selector receives all of its kind, and then another one all the rest."""
    for who in list(scenario.it.takers.values()):
        scenario.it.consumers.close(who)
    scenario.has.clear()
    while scenario.going:
        scenario.hear()
    _takes(scenario, taker("joe", 10_000, "kind == 'b'"))
    assert all(scenario.kinds[place] == "a" for place in scenario.all if place not in scenario.done)
    assert not any(queued.is_whole for queued in scenario.it.backlog.picked)
    _takes(scenario, taker("ann", 10_000))
    assert (scenario.it.backlog.messages, scenario.it.backlog.bytes) == (0, 0)
    assert set(scenario.all) == scenario.done
    assert scenario.it.backlog._memory.used == 0


def _takes(scenario: Scenario, joe: QueueConsumer) -> None:
    scenario.it.consumers.add_consumer(joe)
    rest = REST
    while rest and scenario.it.backlog.messages:
        rest -= 1
        scenario.wait()
        scenario.bury()
        scenario.read()
        scenario.search()
        scenario.give()
        if joe.holding.given and joe.busy:
            rest = REST
            for place, (_, count) in list(scenario.has.items()):
                assert scenario.it.deliveries.ack(joe, count, count) == []
                scenario.done.add(place)
            scenario.has.clear()
    scenario.it.consumers.close(joe)
    scenario.give()
