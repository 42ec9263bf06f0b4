"""What is taken from a queue by one consumer, over reconnects: what is here, and what was said of it?"""

# Law 1: the k-th message that comes in an epoch has the count k. What is here from before comes first: it has
#        the counts 1 to n, in the order in which it was listed, and is not sent again.
# Law 2: what comes while no epoch is open is of an older one.
# Law 3: each is settled once.
# Law 4: nobody begins with what the node has given to others, as far as it has said so.
# Law 5: what waits here keeps its lease: it is the user's from when he is given it.
# Law 6: after a standstill as long as the lease nothing is begun that the node has not confirmed: what waits
#        here, or in the socket, may be somebody else's by then, and done.

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from math import inf

from mesh.client.core.calls import Calls
from mesh.client.core.desk import Alarm, ClientDesk, Promise
from mesh.client.core.line import Line
from mesh.client.core.lots import GONE, HERE, SAID, LotPlace, Settlement, Some, TakenLot, fitting, listed
from mesh.client.core.settling import Settling
from mesh.client.message import Message
from mesh.errors import LeaseOver, LocalError, MeshError, RemoteError
from mesh.wire.commands import EXTEND, Consume, ItemHead
from mesh.wire.envelope import Envelope
from mesh.wire.limits import ENVELOPE_MESSAGES
from mesh.wire.replies import Opened, read_result


class QueueTaking:
    """One queue from which somebody takes. `stirred` is called when there may be something to take, or an
    end."""

    number: int
    address: str
    credit: int

    def __init__(
        self,
        desk: ClientDesk,
        line: Line,
        calls: Calls,
        number: int,
        address: str,
        credit: int,
        selector: str,
        lease: int,
    ) -> None:
        """`lease` in ms; 0: none."""
        self.number, self.address, self.credit = number, address, credit
        self.is_asked: bool = False  # CONSUME is not answered yet
        self.is_leaving: bool = False
        self.error: MeshError | None = None  # why nothing more will come
        self.stirred: Callable[[], None] = _nobody
        self.reopen: Callable[[], None] = _nobody  # ask for another epoch on this connection
        self.settling: Settling = Settling(desk, line, calls, number, self._is_ours)
        self._selector, self._lease = selector, lease
        self._desk, self._line = desk, line
        self._epoch = -1  # none is open
        self._opening = 0
        self._given = 0  # the last count,
        self._begun = 0  # and the last one that its user was given
        self._lots: dict[TakenLot, None] = {}  # with something of which nothing was said yet
        self._waiting: deque[TakenLot] = deque()  # with something that was not begun
        self._listed: list[LotPlace] = []  # what CONSUME has listed
        self._alarm: Alarm | None = None
        self._looked = 0.0  # when the alarm was set: all that had come by then was taken in

    # --- its life ---------------------------------------------------------------------------------------

    def asked_for(self, request: int) -> Consume:
        """The command that begins an epoch."""
        self._listed = self._mine()
        self._begun = sum(lot.begun > place for lot, place in self._listed)
        # Of what it leaves it wants nothing but an answer.
        credit = max(1, len(self._listed)) if self.is_leaving else self.credit
        return Consume(
            request,
            self.number,
            self.address,
            credit,
            selector=self._selector,
            lease=self._lease,
            held=listed(self._listed),
        )

    def left(self, request: int) -> Consume:
        """The command that ends it."""
        return Consume(request, self.number, self.address, 0, begun=self._begun)

    def _mine(self) -> list[LotPlace]:
        """What is still here, in the order in which it was begun, or will be."""
        said = self.settling.places()
        if self.is_leaving:
            return fitting([], said, [])
        now = self._desk.now
        mine = [(x, at) for x in self._lots if x.until > now for at in x.are(HERE, 0, x.begun)]
        waiting = [(x, at) for x in self._waiting if x.until > now for at in x.are(HERE, x.begun, len(x))]
        return fitting(mine, said, waiting)

    def opened(self, value: object) -> None:
        """CONSUME was answered. RemoteError for an answer that is none."""
        said = read_result(Opened, value)
        void = _counts(said.void, len(self._listed))
        if not 0 <= said.epoch < 2**63:
            raise RemoteError(f"{self.address}: {said.epoch:.0f} is no epoch", code="MALFORMED")
        self.is_asked = False
        self._epoch, self._opening, self._given = said.epoch, self._opening + 1, len(self._listed)
        for lot in dict.fromkeys(lot for lot, _ in self._listed):
            lot.opening, lot.counts = self._opening, [0] * len(lot)
            self._leased(lot, self._desk.now)
        kept: dict[TakenLot, None] = {}
        for count, (lot, place) in enumerate(self._listed, 1):
            lot.counts[place] = count  # type: ignore[index]
            if lot.states[place] == HERE:
                if count in void:
                    lot.states[place] = GONE
                else:
                    kept[lot] = None
        self._lots, self._listed = kept, []
        self._waiting = deque(lot for lot in self._waiting if lot in kept and lot.begun < len(lot))
        self.settling.open(self._epoch, self._opening)
        self._watch()
        self.stirred()

    def void(self) -> None:
        """The connection is gone: what was said, and not answered, is said again on the next one."""
        self._epoch, self.is_asked = -1, False
        self.settling.void()
        self._quiet()

    def leave(self, why: MeshError) -> None:
        """Nothing more is wanted: what was not begun is dropped, and what was said is said to its end."""
        self.settling.flush()
        self.is_leaving, self.error = True, self.error or why
        self._waiting.clear()
        self._lots.clear()
        self._quiet()
        self.stirred()

    def end(self, error: MeshError) -> None:
        """Closed, or refused: nobody will answer any more."""
        self.void()
        self.settling.end(error)
        self.leave(error)

    # --- being given ------------------------------------------------------------------------------------

    def arrived(self, head: ItemHead, envelope: Envelope, indices: Sequence[int] | None) -> None:
        """An item. RemoteError for far more than was asked for; an envelope too many does no harm."""
        if self._epoch < 0 or self.is_leaving or self._must_ask():
            return
        lot = TakenLot(envelope, indices, head.tries, self._opening, self._given + 1)
        self._given += len(lot)
        if self._given - self._begun > self.credit + 2 * ENVELOPE_MESSAGES:
            raise RemoteError(f"{self.address} gave far more than the {self.credit} that were asked for")
        if self._lease and any(head.tries):
            self._outdate(lot)
        self._leased(lot, self._desk.now)
        self._lots[lot] = None
        self._waiting.append(lot)
        self._watch()
        self.stirred()

    def _outdate(self, new: TakenLot) -> None:
        """What is given anew was taken from us before, as its lease is over.

        Without a lease nothing that is here is given again in the same epoch: then it is another copy.
        """
        numbers = {number for number, tries in zip(new.numbers(), new.tries, strict=True) if tries}
        for lot in [lot for lot in self._lots if lot.stream == new.stream]:
            for place, number in enumerate(lot.numbers()):
                if number in numbers and lot.states[place] == HERE:
                    lot.states[place] = GONE
            self._is_ours(lot)

    def _is_ours(self, lot: TakenLot) -> None:
        """Is there something in it of which nothing was said yet?"""
        if HERE not in lot.states:
            self._lots.pop(lot, None)
        elif not self.is_leaving:
            self._lots[lot] = None

    @property
    def _is_open(self) -> bool:
        return self._epoch >= 0 and self._line.is_up and self.error is None

    def take(self) -> tuple[TakenLot, int, Message] | None:
        """The next one; None: there is none now."""
        while self._is_open and self._waiting and not self._must_ask():
            lot = self._waiting[0]
            if lot.begun == len(lot):
                self._waiting.popleft()
                continue
            place, message = lot.begun, lot.next()
            if lot.states[place] == HERE:
                self._begin(lot, [place])
                return lot, place, message
        return None

    def take_batch(self) -> Some | None:
        """The next ones that came together; None: there are none now."""
        while self._is_open and self._waiting and not self._must_ask():
            lot = self._waiting.popleft()
            places = lot.are(HERE, lot.begun, len(lot))
            lot.begun = len(lot)
            if places:
                self._begin(lot, places)
                return lot, places
        return None

    def _begin(self, lot: TakenLot, places: Sequence[int]) -> None:
        self._begun = max(self._begun, lot.counts[places[-1]])
        if self._lease and self._desk.now - lot.since > self._lease / 10_000:
            lot.until = max(lot.until, self._desk.now + self._lease / 1000)
            self.settling.say(Settlement(EXTEND, [(lot, places)], self._lease))

    # --- leases -----------------------------------------------------------------------------------------

    def _leased(self, lot: TakenLot, now: float) -> None:
        lot.since, lot.until = now, now + self._lease / 1000 if self._lease else inf

    def _watch(self) -> None:
        if self._alarm is None and self._lease and self._epoch >= 0:
            self._looked = self._desk.now
            self._alarm = self._desk.later(self._lease / 3000, self._ring)

    def _must_ask(self) -> bool:
        """Has this process stood still for as long as a lease? Then the node is asked what is still ours."""
        if not self._lease or self._epoch < 0 or not stood_still(self._looked, self._desk.now, self._lease):
            return False
        self._epoch = -1
        self.settling.void()
        self._quiet()
        self.reopen()
        return True

    def _quiet(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _ring(self) -> None:
        """What waits needs more time; what its user has had too long is his no more."""
        self._alarm = None
        if self._must_ask():
            return
        now = self._desk.now
        for lot in [lot for lot in self._lots if lot.until <= now and lot.begun == len(lot)]:
            del self._lots[lot]
        of = [(lot, places) for lot in self._waiting if (places := lot.are(HERE, lot.begun, len(lot)))]
        for lot, _ in of:
            self._leased(lot, now)
        if of and self._is_open:
            self.settling.say(Settlement(EXTEND, of, self._lease))
        self._watch()

    # --- settling ---------------------------------------------------------------------------------------

    def check(self, lot: TakenLot, place: int) -> None:
        """Can something be said of it? LocalError SETTLED the second time, LeaseOver, or why it has ended."""
        state = lot.states[place]
        if state == SAID:
            hint = "Each is acked, nacked or rejected once."
            raise LocalError("this message was settled before.", hint=hint, code="SETTLED")
        if self.error is not None:
            what = f"{self.address} is not taken from any more: what was not settled by then went to others."
            raise LeaseOver(what) if self.is_leaving and self.error.code == "CLOSED" else self.error
        if state == GONE or (self._epoch >= 0 and not lot.count(place, self._opening)):
            raise self.settling.lease_over("this message is not this consumer's any more.")

    def say(self, what: int, of: Sequence[Some], delay: int = 0, reason: str = "") -> Promise:
        """Settle these, or ask for more time; the promise is kept when the node has written it down. Each
        was checked."""
        said = Settlement(what, of, delay, reason, self._desk.promise())
        for lot, places in of:
            if what == EXTEND:
                lot.until = max(lot.until, self._desk.now + delay / 1000)
                continue
            for place in places:
                lot.states[place] = SAID
            self._is_ours(lot)
        self.settling.say(said)
        assert said.promise is not None
        return said.promise


def stood_still(looked: float, now: float, lease: int) -> bool:
    """May a lease (ms) that began after `looked` be over, though it was looked at three times in each?"""
    return now - looked >= lease / 1000


def _counts(ends: list[int], most: int) -> set[int]:
    """The counts that are meant. RemoteError for what can be none of so many."""
    before, counts = 0, set[int]()
    for first, last in zip(ends[::2], ends[1::2], strict=False):
        if not before < first <= last <= most:
            raise RemoteError(f"counts {first} to {last} of {most} are void", code="MALFORMED")
        counts.update(range(first, last + 1))
        before = last
    if len(ends) % 2:
        raise RemoteError(f"{len(ends)} ends of ranges are void", code="MALFORMED")
    return counts


def _nobody() -> None:
    """Takes nothing yet."""
