"""Has this site a message already, whichever way it came: from its publisher, or by masters of other sites?

`low` is a promise of one sender to one receiver. What is below that of a publisher was answered at its own
site, and may yet be on its way here; what is below that of a master there was answered here.
"""

from __future__ import annotations

from dataclasses import dataclass

from mesh.streams.origin import OriginStream
from mesh.streams.ranges import Ranges
from mesh.streams.turns import Turns
from mesh.wire.limits import LARGEST_NUMBER

PUBLISHER = b""  # the leg of a publisher that is connected here
LEGS = 64  # that are remembered of one stream
KEPT = 1024  # ranges below all lows, for who comes with them by another leg
MOST = 16_384  # ranges in all: beyond that other sites have to wait
IDLE = 600.0  # s without a word, after which a leg makes nobody wait

# Law 1: a number is taken once, whatever legs bring it, in any order, and however often.
# Law 2: a low speaks for its own leg. A hole below it is no reason to refuse what another leg brings.
# Law 3: what is above the low of a leg that is in use is forgotten for nobody but a publisher who is here.
# Law 4: what is the lowest that a leg has open is never told to wait: others may wait for that.
# Law 5: nothing is refused for good, as whoever keeps it may bring it again. It comes before what the same
#        leg brings of later numbers.
#
# What a master promises to another site, its low there, is the business of `mesh.streams.promises`.


class LegsFull(Exception):
    """Nothing was taken, since there is no room to remember it. It may come again."""


@dataclass(slots=True)
class _Leg:
    """One way on which messages of the stream come: below `low` its sender has all answers."""

    low: int
    used: float = 0.0


class Legs(OriginStream):
    """Numbers accepted from one (client session, domain), at a master whose site takes from other sites.

    It is stored as any other stream. Lows of legs are not: each envelope brings its own.
    """

    def __init__(self, low: int = 1, above: Ranges | None = None) -> None:
        super().__init__(low, above)
        self._legs = {PUBLISHER: _Leg(low)} if low > 1 else {}
        self._turns: Turns | None = None  # once anything was put off
        self._now = 0.0

    def accept(self, first: int, last: int, low: int) -> list[tuple[int, int]]:
        """As of any stream, from its publisher, and compared with what other sites have brought."""
        return self.accept_by(PUBLISHER, first, last, low, self._now)

    def accept_by(self, leg: bytes, first: int, last: int, low: int, now: float) -> list[tuple[int, int]]:
        """The part of first..last that no leg has brought, now recorded; empty = a repeat.

        LegsFull when it has to wait. StaleSequence as of any stream.
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
            raise LegsFull("what was put off before it comes first")
        if fresh:
            try:
                self._make_room(leg, is_lowest=start == settled)
            except LegsFull:
                self.put_off(leg, start, now)
                raise
            self.above.add(start, last)
        return fresh

    def put_off(self, leg: bytes, first: int, now: float) -> None:
        """What that leg has brought could not be taken now."""
        self._turns = self._turns or Turns(LEGS)
        self._turns.put_off(leg, first, now)

    def refuse(self, first: int, last: int) -> None:
        """It was not taken after all."""
        self.above.remove(first, last)

    def settle(self, low: int) -> None:
        """What is below was answered to the publisher; what other legs bring of it is news all the same."""
        self._use(PUBLISHER, low)

    def _use(self, leg: bytes, low: int) -> int:
        """Hear what a leg says of itself. Returns its low."""
        known = self._legs.pop(leg, None) or _Leg(self.low if leg == PUBLISHER else low)
        known.low, known.used = max(known.low, low), self._now
        self._legs[leg] = known  # those that were silent for longest come first
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
        """Forget what is below all lows, but for the newest of it, and then more for a publisher's sake."""
        if len(self.above) < KEPT:
            return
        self._forget_below(self._floor(), KEPT)
        if len(self.above) < MOST or is_lowest:
            return
        oldest = self._now - IDLE
        self._legs = {name: each for name, each in self._legs.items() if each.used > oldest}
        self._forget_below(LARGEST_NUMBER if leg == PUBLISHER else self._floor(), MOST)
        if len(self.above) >= MOST:
            raise LegsFull(f"{len(self.above)} ranges of numbers from {self._floor()} on")

    def _forget_below(self, floor: int, most: int) -> None:
        while len(self.above) >= most and self.above.lowest() < floor:
            self._forgotten = self.above.drop_lowest() + 1
