"""Deduplication at a site for messages that arrive from their publisher or from masters of other sites.

`low` is a promise of one sender to one receiver. Numbers below the low of a publisher were answered at its
own site, and may still be in transit to this site. Numbers below the low of a master of another site were
answered here.
"""

from __future__ import annotations

from dataclasses import dataclass

from mesh.streams.deferred_numbers import DeferredNumbers
from mesh.streams.origin import OriginStream
from mesh.streams.ranges import Ranges
from mesh.wire.limits import LARGEST_NUMBER

PUBLISHER = b""  # leg of a publisher connected here
LEGS = 64  # legs remembered for one stream
KEPT = 1024  # ranges kept below all lows, for other legs
MOST = 16_384  # maximum of ranges; other sites wait beyond it
IDLE = 600.0  # s of silence after which a leg is not waited for

# Law 1: a number is accepted once, whichever legs deliver it, in any order and any number of times.
# Law 2: a low applies to its own leg only. A missing number below it is accepted from another leg.
# Law 3: numbers above the low of an active leg are forgotten only for a locally connected publisher.
# Law 4: the lowest open number of a leg is never deferred: others may wait for it.
# Law 5: nothing is refused permanently, because the sender may resend it. A deferred number precedes
# later numbers of the same leg. The low that a master promises to another site is computed in
# `mesh.streams.promises`.


class LegsFull(Exception):
    """A number was not accepted, because there is no room for it or an earlier number must come first.

    The sender may retry.
    """


@dataclass(slots=True)
class _Leg:
    """A source of messages of the stream. The source has the answers to all numbers below `low`."""

    low: int
    used: float = 0.0


class MultiPathStream(OriginStream):
    """The accepted numbers of one (client session, domain) whose messages may also arrive from other sites.

    The object is stored like any other stream. The lows of legs are not stored: each envelope has its own.
    """

    def __init__(self, low: int = 1, above: Ranges | None = None) -> None:
        super().__init__(low, above)
        self._legs = {PUBLISHER: _Leg(low)} if low > 1 else {}
        self._turns: DeferredNumbers | None = None  # set once anything was deferred
        self._now = 0.0

    def accept_numbers(self, first: int, last: int, low: int) -> list[tuple[int, int]]:
        """Accept numbers from the publisher itself; see `accept_by`."""
        return self.accept_by(PUBLISHER, first, last, low, self._now)

    def accept_by(self, leg: bytes, first: int, last: int, low: int, now: float) -> list[tuple[int, int]]:
        """Record the numbers first..last, and return the ranges that are new; [] means a duplicate.

        Raises: LegsFull if the sender must wait; StaleSequence, as any stream.
        """
        self._now = max(self._now, now)
        is_early = self._turns is not None and self._turns.is_early(leg, first, last, low, now)
        settled = self._use(leg, low)
        start = max(first, settled)
        if last < start:
            return []
        self._check_known(start, last)
        fresh = self.above.missing(start, last)
        if fresh and is_early:
            raise LegsFull("an earlier deferred message must come first")
        if fresh:
            try:
                self._make_room(leg, is_lowest=start == settled)
            except LegsFull:
                self.defer_leg(leg, start, now)
                raise
            self.above.add(start, last)
        return fresh

    def defer_leg(self, leg: bytes, first: int, now: float) -> None:
        self._turns = self._turns or DeferredNumbers(LEGS)
        self._turns.defer(leg, first, now)

    def refuse_numbers(self, first: int, last: int) -> None:
        """Forget numbers that could not be accepted after all."""
        self.above.remove(first, last)

    def settle(self, low: int) -> None:
        """Record that the publisher has the answers to all numbers below `low`.

        Other legs may still deliver these numbers as new ones.
        """
        self._use(PUBLISHER, low)

    def _use(self, leg: bytes, low: int) -> int:
        """Raise the low of a leg to at least `low`, and return it."""
        known = self._legs.pop(leg, None) or _Leg(self.low if leg == PUBLISHER else low)
        known.low, known.used = max(known.low, low), self._now
        self._legs[leg] = known  # keeps them sorted by last use
        if len(self._legs) > LEGS:
            del self._legs[next(name for name in self._legs if name != PUBLISHER)]
        if leg == PUBLISHER:
            self.low = known.low
        if self.refused:
            self.refused.drop_below(self._floor())
        return known.low

    def _floor(self) -> int:
        return min(each.low for each in self._legs.values())

    def _make_room(self, leg: bytes, is_lowest: bool) -> None:
        """Forget old ranges until another one fits. Raises: LegsFull.

        Ranges below all lows are forgotten first. If MOST are left, idle legs no longer count, and for a
        local publisher ranges above the lows are forgotten, too. With `is_lowest` there is always room.
        """
        if len(self.above) < KEPT:
            return
        self._forget_below(self._floor(), KEPT)
        if len(self.above) < MOST or is_lowest:
            return
        oldest = self._now - IDLE
        self._legs = {name: each for name, each in self._legs.items() if each.used > oldest}
        self._forget_below(LARGEST_NUMBER if leg == PUBLISHER else self._floor(), MOST)
        if len(self.above) >= MOST:
            text = f"its stream has too many gaps, {len(self.above):,} from number {self._floor()} on"
            raise LegsFull(text)

    def _forget_below(self, floor: int, most: int) -> None:
        while len(self.above) >= most and self.above.lowest() < floor:
            self._forgotten = self.above.drop_lowest() + 1
