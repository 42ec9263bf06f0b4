"""A queue at this node, as the log sees it: what is put into it is owed to it until somebody has acked it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from mesh.core.desk.desk import Desk
from mesh.core.desk.disk import Committed
from mesh.core.queues.keeping.held import HeldPuts
from mesh.core.queues.keeping.marked import MarkedGiving
from mesh.core.queues.keeping.reading import PartReading
from mesh.core.queues.keeping.rows import Rows
from mesh.errors import MeshError
from mesh.names import PUTS
from mesh.queues.declared.definition import QueueTerms
from mesh.queues.looking.rates import RateMeter
from mesh.queues.lots.counts import Runs, joined
from mesh.queues.lots.lot import Lot
from mesh.queues.part.partial import HeldNumbers, PartialQueue
from mesh.queues.takers.taker import QueueTaker
from mesh.routing.memory import Memory
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.snapshots.waiting import Waiting
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope

PACE = 1.0  # s: who has just begun to take is known for a quick one so soon
AHEAD = 10**9  # ns by which the mark goes before what is put now


class QueueHere:
    """The taker of what is put into a queue. `push(taker, portion)` puts something on its way."""

    owner = ""

    def __init__(
        self,
        desk: Desk,
        rows: Rows,
        memory: Memory,
        name: str,
        terms: QueueTerms,
        push: Callable[[QueueTaker, Portion], None],
        changed: Callable[[QueueHere], None],
    ) -> None:
        self.name = name
        self.key = PUTS.encode() + name.encode()
        self.floors: dict[bytes, int] = {}
        self._coming = self._coming_bytes = 0  # messages that are on their way to the disk
        self.paces = False  # what it has no room for is not accepted yet
        s = desk.settings
        self._held = HeldPuts(2 * s.window_bytes, 2 * s.window_count)
        self.part = PartialQueue(name, terms, memory)
        self.arrives, self.leaves = RateMeter(), RateMeter()
        self.pace = RateMeter(PACE)  # as `leaves`, sooner
        self.finished = 0  # messages that consumers here have finished
        self.moved_in = self.moved_out = 0  # messages, from that queue at other nodes and to there
        self._desk = desk
        self.rows = rows
        self._tell = changed  # there may be something to give out, to bury, or to write down
        self.giving = MarkedGiving(desk, rows, name, self.part, push)
        self.reading = PartReading(desk, rows, name, self.part, self._loaded, self.changed)
        self.is_removed = False
        self.drops_oldest = False  # when it is full, instead of refusing more
        self.dropped = 0  # messages that it has lost so since the start
        self.queries: tuple[Query, ...] = ()  # of a durable subscription: what comes into it
        self.fresh: list[Lot] = []  # put, and where it goes is not decided; nothing of it was given out
        self.is_behind = False  # there may be such on the disk alone

    def changed(self) -> None:
        """There may be something to do when the event is over."""
        self._tell(self)

    def declared(self, terms: QueueTerms) -> None:
        """These terms count from now on."""
        self.part.terms = terms
        self.changed()

    @property
    def oldest(self) -> float | None:
        """For how long the first of what is ready has waited, in s; None: nothing is."""
        first = self.part.oldest
        return max(0.0, (self._desk.believed - first) / 1e9) if first else None

    def waiting(self) -> Waiting:
        """What is in it now, who takes, what comes and goes."""
        part, now = self.part, self._desk.now
        return Waiting(
            PUTS + self.name,
            part.messages,
            part.bytes,
            self.oldest,
            len(part.takers),
            self.arrives.value(now),
            self.leaves.value(now),
            part.died,
            part.redelivered,
            part.ready,
            max(0, sum(taker.room for taker in part.takers.values()) - part.ready),
            self.moved_in,
            self.moved_out,
        )

    # --- as the log sees it -----------------------------------------------------------------------------

    def alive(self, now: float) -> bool:
        return False  # nobody is paced

    @property
    def is_full(self) -> bool:
        """Is there no room for more?"""
        return self.part.is_full_with(self._coming, self._coming_bytes)

    @property
    def refuses(self) -> bool:
        """Is there no room for more, and may it refuse that?"""
        return not self.drops_oldest and self.is_full

    @property
    def _may_wait(self) -> bool:
        """Shall who puts wait for room? As long as somebody takes."""
        is_patient = self.part.terms.when_full == "block" and not self.is_removed
        return is_patient and any(taker.away == inf for taker in self.part.takers.values())

    def holds_back(self, envelope: Envelope) -> tuple[bool, list[Envelope]]:
        """Does it wait for room? If too much of its stream waits for that, all of that goes before it."""
        if not self._held and not (self.is_full and self._may_wait):
            return False, []
        if self._held.add(envelope):
            return True, []
        return False, self._held.take(envelope.stream)

    def released(self) -> Envelope | None:
        """The next one that waits no more: there is room, or nobody takes."""
        if self._held and (not self.is_full or not self._may_wait):
            return self._held.pop()
        return None

    def forget(self, stream: bytes) -> bool:
        """Whoever put that is gone. He was not answered, and puts it again if he is back. Waits any more?"""
        self._held.take(stream)
        return bool(self._held)

    def comes(self, parcel: Parcel, sign: int) -> None:
        self._coming += sign * parcel.envelope.count
        self._coming_bytes += sign * parcel.size

    def owed_from(self, key: str, domain: str, xml: str = "") -> float:
        return 0

    @property
    def coming(self) -> int:
        """Messages that are on their way to it."""
        return self._coming

    def offer(self, portion: Portion, now: float) -> None:
        self.arrives.add(portion.parcel.envelope.count, now)
        lot = self.wait(portion.parcel, now)
        if lot is None:
            self.is_behind = True
        else:
            self.fresh.append(lot)

    def restore(self, portion: Portion, now: float) -> None:
        self.wait(portion.parcel, now)

    def wait(self, parcel: Parcel, now: float) -> Lot | None:
        """It waits here, perhaps since before the start; returns what is in memory of it."""
        row, part = self.rows.of(self.name, parcel.position), self.part
        is_plain = parcel.position and not row and not part.is_recovering and not self.is_removed
        if is_plain and part.page_plain(parcel):
            self.changed()
            return None
        lot = Lot(parcel)
        if row:
            lot.restore(row)
        if self.is_removed:
            lot.end(lot.open())
        if not lot.left:
            self.rows.write(self.name, lot)
            return lot
        is_old = False
        if part.is_recovering and parcel.position:
            is_marked, was_given = self.giving.is_marked(lot), lot.given is not None
            is_old = is_marked or was_given
            if is_marked:
                lot.given = None  # then all of it may have been
        self.changed()
        if parcel.position and not is_old and part.may_page(lot):
            part.page(lot)
            return None
        part.add(lot, now, self._desk.believed, is_old)
        return lot

    def arrive(self, lot: Lot) -> None:
        """It has come from another node, and is on disk, if it is to be there."""
        part, desk = self.part, self._desk
        if part.watch is not None:
            part.watch.comes(lot)
        lot.came = desk.now
        self.arrives.add(lot.left, desk.now)
        if self.is_removed:
            lot.end(lot.open())
            self.rows.write(self.name, lot)
        elif part.may_page_moved(lot):
            part.page(lot)
        else:
            part.add(lot, desk.now, desk.believed)
        self.changed()

    def again(self, envelope: Envelope, then: Committed) -> None:
        """What may have been in another part comes, and says so; `then` hears when it is on disk."""
        lot = Lot(Parcel(envelope, master=self._desk.me.uuid, own=True))
        lot.may_have_been_given(lot.open())
        self.comes(lot.parcel, +1)

        def stored(error: MeshError | None) -> None:
            self.comes(lot.parcel, -1)
            if error is None:
                self.arrive(lot)
            else:
                self.rows.not_arrived([lot])
            then(error)

        self.rows.again(self.name, lot, stored)

    def came_back(self, lot: Lot, runs: Runs) -> None:
        """Another node did not take these, and that is on disk."""
        if self.is_removed:
            self.part.gave_up(lot, runs)
            self.rows.write(self.name, lot)
        else:
            self.part.came_back(lot, runs)
        self.changed()

    def expects(self, priority: int) -> None:
        """Something is about to be put, and given out at once perhaps: the mark goes to the disk before."""
        soon, part = self._desk.last_stamp + AHEAD, self.part
        if not part.takers or part.on_disk.has(priority):
            return
        if not self.rows.is_coming(self.name, priority, soon - AHEAD // 2):
            self.rows.mark(self.name, {priority: soon}, lambda error: None)

    def end(self) -> None:
        """It is removed: what is in it is gone, and so is what is still to come from the disk."""
        self.is_removed = True
        self.part.end()

    # --- takers -----------------------------------------------------------------------------------------

    def open(self, taker: QueueTaker, held: HeldNumbers) -> Runs:
        """He takes from now on; see PartialQueue."""
        self.giving.withdraw(taker.key)
        void = joined(self.part.open(taker, held))
        if taker.holding.given:
            self.giving.lease(taker, (1, taker.holding.given), taker.lease)
        self.changed()
        return void

    def away(self, taker: QueueTaker, now: float) -> None:
        """His session is gone, for a moment perhaps."""
        taker.away = now
        self.giving.withdraw(taker.key)
        self.changed()

    def close(self, taker: QueueTaker, begun: float) -> None:
        """He takes no more."""
        self.giving.withdraw(taker.key)
        self.part.close(taker, begun)
        self.changed()

    def settled(self, n: int) -> None:
        """Somebody has acked so many."""
        self.leaves.add(n, self._desk.now)
        self.pace.add(n, self._desk.now)
        self.finished += n
        self.changed()

    # --- what is read -----------------------------------------------------------------------------------

    def _loaded(self, lots: list[Lot]) -> None:
        """These were on the disk alone, and are in memory from now on."""
        if self.is_behind:
            self.fresh += [lot for lot in lots if lot.ready]
            self.is_behind = bool(self.part.on_disk)
