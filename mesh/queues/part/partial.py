"""What waits in a queue at one node, who takes it, and what becomes of it?"""

# Law 1: a message is given to one taker at a time. Whoever has it next is told that it was given before.
# Law 2: of what a queue has, a producer's messages come in its order, but for those that are given again, and
#        that are of another priority.
# Law 3: messages of one group are with one taker at a time.
# Law 4: what is done is never given again.
# Law 5: messages = ready + out + delayed + doubtful + going + dead, at every moment.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from msgspec import Struct

from mesh.queues.declared.definition import QueueTerms
from mesh.queues.lots.counts import Runs, count, first_of, joined, numbers_of, slice_of, without
from mesh.queues.lots.expiring import Expiring
from mesh.queues.lots.line import FIRST, ReadyLots
from mesh.queues.lots.lot import PRIORITY, Lot, LotKey
from mesh.queues.lots.ondisk import OnDisk, Wish
from mesh.queues.part.doubtful import Doubtful
from mesh.queues.part.later import DelayedLots
from mesh.queues.part.watching import Watching
from mesh.queues.takers.groups import MessageGroups
from mesh.queues.takers.holding import Run
from mesh.queues.takers.taker import QueueTaker
from mesh.routing.memory import Memory
from mesh.routing.parcel import Parcel

AHEAD = 1024  # lots of one priority in memory, below which the next ones are read from the disk
EXPIRED, REJECTED, TRIED = "EXPIRED", "REJECTED", "TOO_MANY_ATTEMPTS"  # why a message is dead
Pledge = tuple[bytes, int]
NOWHERE: Mapping[int, LotKey] = {}
HeldNumbers = Sequence[tuple[bytes, Sequence[int]]]  # by stream: first, last, ... of what a taker says he has


class DeadMessages(Struct):
    """Messages of a lot that nobody is given any more, and why. They are done when that is stored."""

    lot: Lot
    runs: Runs
    code: str
    text: str


class PartialQueue:
    """A queue's part at this node. `changed`: lots whose rows are to be written; `dead`: to be buried."""

    def __init__(self, name: str, terms: QueueTerms, memory: Memory | None = None) -> None:
        self.name = name
        self.terms = terms
        self.takers: dict[bytes, QueueTaker] = {}
        self.groups = MessageGroups()
        self.messages = self.bytes = self.out = self.dying = self.going = 0
        self.acked = self.redelivered = self.died = 0  # since the start
        self.changed: dict[Lot, None] = {}
        self.dead: list[DeadMessages] = []
        self.lines: dict[int, ReadyLots] = {}  # by priority
        self.later = DelayedLots(self.groups)
        self.on_disk = OnDisk()
        self._memory = memory or Memory(inf)
        # In memory, though something on the disk may stand before it, as a selector wants it: see searching.
        self.picked: dict[Lot, None] = {}
        self.returning: dict[Lot, None] = {}  # of these, what may go back there
        self.leaving: dict[Lot, None] = {}  # something of these is on its way to another node
        # What another node keeps until it is done here, by who that is and the number on its way; and what of
        # that is done by now.
        self.pledged: dict[Lot, Pledge] = {}
        self.redeemed: list[Pledge] = []
        self.is_searching = False  # is some of what is on the disk being read for selectors?
        self.seeks = False  # has a selector looked through all that is in memory?
        self.looks_at = inf  # when somebody looks on whose turn is over
        self.watch: Watching | None = None
        self._doubtful: Doubtful | None = None
        self._expiring = Expiring()

    @property
    def ready(self) -> int:
        """How many messages could be given now."""
        return self.messages - self.away - self.later.messages - self.dying - self.going

    @property
    def away(self) -> int:
        """How many messages somebody has, or may come back for after a restart."""
        return self.out + (self._doubtful.messages if self._doubtful is not None else 0)

    def is_full_with(self, messages: int = 0, size: int = 0) -> bool:
        """Is there no room for more, with so many that are on their way, and their bytes?"""
        terms = self.terms
        return self.messages + messages >= terms.max_count or self.bytes + size >= terms.max_bytes

    @property
    def oldest(self) -> int:
        """When the first of what is ready was accepted, ns since 1970; 0: nothing is."""
        firsts = [lot.envelope.sent for line in self.lines.values() if (lot := line.first()) is not None]
        return min([*firsts, *filter(None, [self.on_disk.oldest])], default=0)

    def stamp_ahead(self, priority: int, n: int) -> int:
        """When the lot was accepted that stands n places behind the first of a priority, or the last one."""
        line = self.line(priority)
        here = line.before(self.on_disk.first(priority))
        lot = line.ahead(min(n, here - 1)) if here else None
        last = self.on_disk.last(priority, n - here) if here <= n else 0
        return max(lot.key[0] if lot is not None else 0, last)

    def next(self, place: Mapping[int, LotKey] = NOWHERE) -> Iterator[Lot]:
        """What has something ready, in the order in which it is given out; by priority behind a place."""
        for priority in sorted(self.lines, reverse=True):
            end = self.on_disk.first(priority)
            for lot in self.lines[priority].after(place.get(priority, FIRST)):
                if lot.key[0] >= end:
                    break
                yield lot

    # --- coming -----------------------------------------------------------------------------------------

    def add(self, lot: Lot, now: float, wall: int, is_doubtful: bool = False) -> None:
        """It waits here from now on. `is_doubtful`: somebody may have it, and come back for it."""
        if self.watch is not None:
            self.watch.adds(lot)
        self.messages += lot.left
        self.bytes += lot.size
        self._keep(lot, now, wall, is_doubtful)

    def _keep(self, lot: Lot, now: float, wall: int, is_doubtful: bool = False) -> None:
        """It is in memory from now on. Of one that has moved and was read nobody knows when it came: at the
        latest now.
        """
        if self.watch is not None:
            self.watch.keeps(lot)
        if lot.moves and lot.came == -inf:
            lot.came = now
        self._memory.used += lot.cost
        self.groups.add(lot.group, lot.left)
        if lot.going:
            self.leaving[lot] = None
            self._goes(lot, sum(count(runs) for runs, _, _ in lot.going))
        self.later.put(lot, now, wall, is_doubtful and self._doubtful is not None)
        self._expiring.add(lot, self.terms.expiry)
        runs = lot.at_hand()
        if is_doubtful and self._doubtful is not None:
            # By the clock of before it may have been time for what is late by that of now.
            lot.may_have_been_given([(first, last) for first, last, _, _ in lot.late])
            doubtful = lot.with_somebody(runs)
            self._doubtful.add(lot, doubtful)
            for first, last in doubtful:
                runs = without(runs, first, last)
        if lot.given is not None:
            self.picked[lot] = None
        self._back(lot, runs)

    # --- what is on the disk alone ----------------------------------------------------------------------

    def may_page(self, lot: Lot) -> bool:
        """Shall it wait there? Not what waits for its time, or is on its way to another node."""
        is_busy = bool(lot.late or lot.delay or lot.going)
        return not is_busy and (self.on_disk.has(lot.priority) or self._memory.has_no_room(lot.cost))

    def may_page_moved(self, lot: Lot) -> bool:
        """Shall one that has come from another node wait there? Its stamp is not that of its place there: as
        long as there is room it is in memory. Nor may it be read anew if another node waits for its end.
        """
        return bool(lot.parcel.position) and lot not in self.pledged and self._memory.has_no_room(lot.cost)

    def page_plain(self, parcel: Parcel) -> bool:
        """Nothing has become of it, so it waits there as what came before it does; False: it cannot."""
        e = parcel.envelope
        priority, delay, _ = e.put or (PRIORITY, 0, "")
        if delay or not self.on_disk.has(priority):
            return False
        if self.watch is not None:
            self.watch.pages_plain(parcel)
        self.messages += e.count
        self.bytes += parcel.size
        self.on_disk.add_parcel(parcel, priority, e.count, self.terms.expiry)
        return True

    def page(self, lot: Lot) -> None:
        """It waits on the disk alone from now on."""
        if self.watch is not None:
            self.watch.pages(lot)
        self.messages += lot.left
        self.bytes += lot.size
        self.on_disk.add(lot, self.terms.expiry)

    def to_load(self) -> Wish | None:
        """What is to be read now, as it may be given out soon."""
        for priority in self.priorities():
            if self.on_disk.has(priority):
                here = self.line(priority).before(self.on_disk.first(priority))
                return self.on_disk.to_load(priority) if here < AHEAD else None
        return None

    def loaded(self, priority: int, lots: Iterable[Lot], now: float, wall: int) -> None:
        """That was read. What was purged meanwhile is done."""
        is_wanted = self.on_disk.loaded(priority)
        for lot in lots:
            self.remember(lot)
            self.on_disk.rows.pop(lot.parcel.position, None)
            self._keep(lot, now, wall)
            if not is_wanted:
                runs = list(lot.ready)
                if self.watch is not None:
                    self.watch.voids(runs)
                lot.take_out(runs)
                self.done(lot, runs)

    def remember(self, lot: Lot) -> None:
        """What has become of one that was read."""
        row = self.on_disk.rows.get(lot.parcel.position)
        if row:
            lot.restore(row)

    def pick(self, lot: Lot, now: float, wall: int) -> bool:
        """One that was read is to be in memory before its turn; False: it is there, or gone."""
        if not self.on_disk.take_out(lot.priority, lot.parcel.position):
            return False
        self.picked[lot] = None
        self._keep(lot, now, wall)
        return True

    def put_back(self, lot: Lot) -> None:
        """One that was picked, and is ready, waits on the disk alone again, unless its turn has come."""
        del self.picked[lot]
        if lot.key[0] < self.on_disk.first(lot.priority):
            return
        if self.watch is not None:
            self.watch.puts_back(lot)
        self._memory.used -= lot.cost
        self.groups.done(lot.group, lot.left)
        self.on_disk.add(lot, self.terms.expiry, is_back=True)
        lot.ends()
        self.line(lot.priority).emptied()
        self._expiring.ended()

    # --- in memory --------------------------------------------------------------------------------------

    def _back(self, lot: Lot, runs: Runs) -> None:
        """These are ready."""
        lot.back(runs)
        if not lot.ready:
            return
        priority = lot.priority
        self.line(priority).add(lot)
        for taker in self.takers.values():
            taker.look_again(priority, lot.key)

    # --- takers -----------------------------------------------------------------------------------------

    def eligible(self) -> list[QueueTaker]:
        """Those who may be given something."""
        takers = list(self.takers.values())
        return takers[:1] if self.terms.exclusive else takers

    def open(self, taker: QueueTaker, held: HeldNumbers = ()) -> list[int]:
        """Somebody takes from now on. What he still has has the counts from 1 on; returns the counts of what
        is not his any more. What he had under the same key and does not name goes to others.
        """
        old = self.takers.pop(taker.key, None)
        mine: dict[tuple[bytes, int], list[Lot]] = {}
        for run in old.holding.take_all() if old is not None else ():
            self._returned(run)
            for number in numbers_of(run.runs):
                mine.setdefault((run.lot.envelope.stream, number), []).append(run.lot)
        self.takers[taker.key] = taker
        if old is not None:
            taker.acked = old.acked  # of which the answers may be lost, too
            if old.selector == taker.selector:
                taker.seen, taker.vain = old.seen, old.vain
            self.returning.update(self.picked)
        void = list(self._claimed(old, mine, held, taker))
        for (_, number), lots in mine.items():
            for lot in lots:
                self._failed(lot, [(number, number)])
        if old is not None:
            self._freed(old)
        if self._doubtful is not None:
            self._doubtful.expected.discard(taker.key)
        return void

    def _claimed(
        self,
        old: QueueTaker | None,
        mine: dict[tuple[bytes, int], list[Lot]],
        held: HeldNumbers,
        taker: QueueTaker,
    ) -> Iterator[int]:
        for stream, ends in held:
            for first, last in zip(ends[::2], ends[1::2], strict=True):
                for number in range(first, last + 1):
                    lots, lot = mine.get((stream, number)), None
                    if taker.busy < taker.credit:
                        lot = lots.pop() if lots else self._from_doubt(taker, stream, number)
                    if lot is None:
                        taker.holding.skip(1)
                        yield taker.holding.given
                        if self._was_acked(old, stream, number):
                            taker.settled.add(taker.holding.given)
                    else:
                        self.given(taker, lot, [(number, number)], inf)

    def _was_acked(self, old: QueueTaker | None, stream: bytes, number: int) -> bool:
        """Was that acked by him, so that it is no matter that he says it once more? After a restart nobody
        knows, and his word is no proof.
        """
        return old is not None and any(s == stream and a <= number <= b for s, a, b in old.acked)

    def _from_doubt(self, taker: QueueTaker, stream: bytes, number: int) -> Lot | None:
        """Only who took before the restart may have it still."""
        doubtful = self._doubtful
        if doubtful is None or taker.key not in doubtful.expected:
            return None
        return doubtful.take(stream, number)

    def close(self, taker: QueueTaker, begun: float = inf) -> None:
        """He takes no more. What he has goes to others; what came after the count `begun` he has not seen."""
        del self.takers[taker.key]
        self.returning.update(self.picked)
        for run in taker.holding.take_all():
            self._returned(run)
            seen = int(max(0, min(run.n, begun - run.count + 1)))
            if seen:
                self._failed(run.lot, first_of(run.runs, seen))
            if seen < run.n:
                self._back(run.lot, slice_of(run.runs, seen, run.n))
        self._freed(taker)

    def _freed(self, taker: QueueTaker) -> None:
        """Groups that were his are anybody's."""
        if self.groups.leave(taker):
            self._look_again()

    def _look_again(self) -> None:
        """What was passed may be for somebody now."""
        for taker in self.takers.values():
            taker.passed.clear()

    def given(self, taker: QueueTaker, lot: Lot, runs: Runs, until: float) -> None:
        """He has these, which are ready no more."""
        n = taker.holding.give(lot, runs, until)
        self.out += n
        self.groups.out(lot.group, taker, n)

    def _returned(self, run: Run) -> None:
        """These are out no more."""
        self.out -= run.n
        if run.lot.given is not None and run.lot.returned(run.runs):
            self.changed[run.lot] = None
        if self.groups.back(run.lot.group, run.n):
            self._look_again()

    # --- moving -----------------------------------------------------------------------------------------

    def go(self, lot: Lot, runs: Runs, node: bytes, number: int) -> int:
        """These were ready, and are on their way to that node, under this number; returns how many."""
        if self.watch is not None:
            self.watch.goes(lot, runs, node)
        n = count(runs)
        lot.take_out(runs)
        lot.go(runs, node, number)
        self.leaving[lot] = None
        self._goes(lot, n)
        self.changed[lot] = None
        if not lot.ready:
            self.line(lot.priority).emptied()
        return n

    def moved(self, lot: Lot, node: bytes, number: int) -> int:
        """That node has what went there under this number; returns how many messages that are."""
        runs = self._no_more(lot, node, number)
        if self.watch is not None:
            self.watch.went(lot, runs, node)
        n = self.done(lot, runs)
        self._goes(lot, -n)
        return n

    def returns(self, lot: Lot, node: bytes, number: int, is_sure: bool) -> Runs:
        """That node does not take it, as its row is to say before it `came_back`. `is_sure`: it was given to
        nobody there.
        """
        runs = self._no_more(lot, node, number)
        if self.watch is not None:
            self.watch.refused(lot, runs, node)
        if not is_sure:
            lot.may_have_been_given(runs)
        self.changed[lot] = None
        return runs

    def came_back(self, lot: Lot, runs: Runs) -> None:
        """These are ready again: that is on disk."""
        if self.watch is not None:
            self.watch.came_back(lot, runs)
        self._goes(lot, -count(runs))
        self._back(lot, runs)

    def gave_up(self, lot: Lot, runs: Runs) -> None:
        """The same, when nobody wants them any more."""
        if self.watch is not None:
            self.watch.gave_up(lot, runs)
        self._goes(lot, -count(runs))
        self.done(lot, runs)

    def _goes(self, lot: Lot, n: int) -> None:
        """So many are on their way, or no more."""
        self.going += n
        self.groups.go(lot.group, n)

    def _no_more(self, lot: Lot, node: bytes, number: int) -> Runs:
        runs = lot.go_no_more(node, number)
        if not lot.going:
            self.leaving.pop(lot, None)
        return runs

    # --- settling ---------------------------------------------------------------------------------------

    def ack(self, taker: QueueTaker, first: int, last: int) -> Runs:
        """He has done what stands under these counts. Returns the counts of what was not his any more.
        RemoteError for what he was never given.
        """
        runs = taker.holding.take(first, last)
        for run in runs:
            self._returned(run)
            self.acked += run.n
            taker.acked.extend([(run.lot.key[1], *each) for each in run.runs])
            self.done(run.lot, run.runs)
        if sum([run.n for run in runs]) == last - first + 1:
            return []
        ours = {*taker.settled, *(run.count + i for run in runs for i in range(run.n))}
        for at, lot, number in taker.take_lapsed(first, last):
            if number in lot.ready:  # nobody else was given it since
                lot.take_out([(number, number)])
                self.acked += 1
                self.done(lot, [(number, number)])
                ours.add(at)
        return joined(n for n in range(first, last + 1) if n not in ours)

    def nack(self, taker: QueueTaker, first: int, last: int, delay: float, now: float, wall: int) -> Runs:
        """Others may have these, in `delay` seconds. Returns and RemoteError as above."""
        runs = taker.holding.take(first, last)
        for run in runs:
            self._returned(run)
            if not delay:
                self._failed(run.lot, run.runs)
                continue
            for a, b in self._tried(run.lot, run.runs):
                self.later.back(run.lot, a, b, delay, now, wall)
        return _others(runs, first, last)

    def reject(self, taker: QueueTaker, first: int, last: int, reason: str) -> Runs:
        """Nobody shall have these. Returns and RemoteError as above."""
        runs = taker.holding.take(first, last)
        for run in runs:
            self._returned(run)
            text = reason or f"{taker.name} has rejected it."
            self._dies(run.lot, run.runs, REJECTED, text)
        return _others(runs, first, last)

    def extend(self, taker: QueueTaker, first: int, last: int, until: float) -> Runs:
        """He needs longer for these. Returns and RemoteError as above."""
        return _others(taker.holding.extend(first, last, until), first, last)

    def _failed(self, lot: Lot, runs: Runs) -> None:
        """Deliveries that came to nothing: these are given again, unless that was tried often enough."""
        self._back(lot, self._tried(lot, runs))

    def _tried(self, lot: Lot, runs: Runs) -> Runs:
        """Those that may be tried again; the others are dead."""
        lot.tried(runs)
        self.changed[lot] = None
        self.redelivered += count(runs)
        most = self.terms.max_attempts
        over = [n for n in numbers_of(runs) if lot.failures(n) >= most]
        if not over:
            return runs
        self._dies(lot, joined(over), TRIED, f"it was given out {most} time{'s' * (most > 1)} in vain.")
        return joined(n for n in numbers_of(runs) if lot.failures(n) < most)

    def _dies(self, lot: Lot, runs: Runs, code: str, text: str) -> None:
        """Nobody is given these any more; they are done when they are `buried`."""
        self.dying += count(runs)
        self.died += count(runs)
        self.dead.append(DeadMessages(lot, runs, code, text))

    def buried(self, dead: DeadMessages) -> None:
        """These have left the queue."""
        self.dying -= count(dead.runs)
        self.done(dead.lot, dead.runs)

    def done(self, lot: Lot, runs: Runs) -> int:
        """These have left the queue, and were neither ready nor out by now; returns how many they are."""
        n = lot.end(runs)
        self.messages -= n
        self.groups.done(lot.group, n)
        if not lot.left:
            self.bytes -= lot.size
            self._memory.used -= lot.cost
            if lot.parcel.envelope.expires or self.terms.expiry is not None:
                self._expiring.ended()
        if self.picked and lot in self.picked:
            self._picked_done(lot)
        if self.pledged and not lot.left and lot in self.pledged:
            self.redeemed.append(self.pledged.pop(lot))
        self.changed[lot] = None
        return n

    def _picked_done(self, lot: Lot) -> None:
        if lot.left:
            self.returning[lot] = None
        else:
            del self.picked[lot]

    def purge(self) -> int:
        """All that is ready or delayed is done; returns how many messages that were."""
        if self.watch is not None:
            self.watch.purges()
        before = self.messages
        messages, size = self.on_disk.purge()
        self.messages -= messages
        self.bytes -= size
        for line in self.lines.values():
            while (lot := line.first()) is not None:
                runs = list(lot.ready)
                lot.take_out(runs)
                self.done(lot, runs)
        while self.later:
            lot, first, last = self.later.pop()
            self.done(lot, [(first, last)])
        purged = before - self.messages
        if self.watch is not None:
            self.watch.purged(purged)
        return purged

    def discard_first(self, priority: int) -> bool:
        """The first that waits on the disk alone is done. False: it is being read."""
        messages, size = self.on_disk.discard_first(priority)
        self.messages -= messages
        self.bytes -= size
        return bool(messages)

    def end(self) -> None:
        """The queue is no more: all that is in it is done, and nobody takes."""
        for taker in list(self.takers.values()):
            self.close(taker)
        doubtful, self._doubtful = self._doubtful, None
        for lot, runs in doubtful.rest() if doubtful is not None else ():
            self._back(lot, runs)
        dead, self.dead = self.dead, []
        for each in dead:
            self.buried(each)
        for lot in list(self.leaving):
            for _, node, number in lot.going[:]:
                self.moved(lot, node, number)
        self.purge()

    # --- time -------------------------------------------------------------------------------------------

    def recover(self, until: float, expected: Mapping[bytes, int]) -> None:
        """What is added from now on as doubtful waits for those who may have it: by their keys how much."""
        self._doubtful = Doubtful(until, set(expected), sum(expected.values()))

    def priorities(self) -> list[int]:
        """Of what there is, the highest first."""
        return sorted({*self.lines, *self.on_disk}, reverse=True)

    def line(self, priority: int) -> ReadyLots:
        """What is in memory of one."""
        line = self.lines.get(priority)
        if line is None:
            line = self.lines[priority] = ReadyLots(priority)
        return line

    def _recovered(self, doubtful: Doubtful) -> None:
        """Who has not come back has lost what he had: as much as he could have is a failed attempt. The rest
        was given to nobody, as a rule; it only says that it may have been.
        """
        self._doubtful, most = None, doubtful.most
        for lot, runs in doubtful.rest():
            tried = first_of(runs, most)
            most -= count(tried)
            lot.returned(runs)
            self._failed(lot, tried)
            runs = slice_of(runs, count(tried), count(runs))
            lot.may_have_been_given(runs)
            self.changed[lot] = None
            self._back(lot, runs)

    @property
    def is_recovering(self) -> bool:
        return self._doubtful is not None

    @property
    def is_recovered(self) -> bool:
        """Has everybody come back who may have something?"""
        return self._doubtful is not None and not self._doubtful.expected

    @property
    def is_timed(self) -> bool:
        """Is there anything that ends by itself?"""
        return bool(self._expiring) or any(taker.lease < inf for taker in self.takers.values())

    def tick(self, now: float, wall: int) -> None:
        """What was delayed is ready when its time has come, and so is what somebody had too long."""
        doubtful = self._doubtful
        if doubtful is not None and (doubtful.until <= now or not doubtful.expected):
            self._recovered(doubtful)
        while self.later.due <= now:
            lot, first, last = self.later.pop()
            self.changed[lot] = None
            self._back(lot, [(first, last)])
            if lot.group:  # which it may have held up
                self._look_again()
        for taker in self.takers.values():
            for run in taker.holding.over(now) if taker.lease < inf else ():
                self._returned(run)
                taker.lapse(run)
                self._failed(run.lot, run.runs)
        self.expire(wall)

    @property
    def due(self) -> float:
        """When `tick` is next worth calling."""
        until = self._doubtful.until if self._doubtful is not None else inf
        leases = (taker.holding.first_over for taker in self.takers.values() if taker.lease < inf)
        return min(self.later.due, until, self.looks_at, *leases)

    def expire(self, wall: int) -> None:
        """What has waited too long is dead."""
        for lot, void in self._expiring.over(wall):
            lot.take_out(void)
            self._dies(lot, void, EXPIRED, f"it waited in {self.name} too long.")


def _others(runs: list[Run], first: int, last: int) -> Runs:
    """The counts from first to last under which none of these stood."""
    if sum(run.n for run in runs) == last - first + 1:
        return []
    ours = {run.count + i for run in runs for i in range(run.n)}
    return joined(n for n in range(first, last + 1) if n not in ours)
