"""By which clock do messages expire? A wall clock that leaps is not believed at once.

Between two leaps it is followed as it is, so that a clock that is set right little by little counts. After
a leap the old one goes on for a while, by the monotonic clock: a wrong minute must not void what waits.
"""

LEAP = 60_000_000_000  # ns
TRUST = 600.0  # s that a clock must have gone on from where it leapt, to be believed


class Believed:
    """The wall clock, in ns since 1970, with its leaps left out."""

    def __init__(self) -> None:
        self._offset: int | None = None  # between the monotonic clock and the one that is believed,
        self._other = 0  # the one that is not,
        self._since: float | None = None  # and when that began
        self.leapt = 0  # ns by which the clock has just leapt; 0: it has not

    def at(self, now: float, wall: int) -> int:
        """The time to be taken for `wall`, which the clock shows at `now`."""
        ticks = int(now * 1e9)
        offset, self.leapt = wall - ticks, 0
        if self._offset is None or abs(offset - self._offset) <= LEAP:
            self._offset, self._since = offset, None
        elif self._since is None or abs(offset - self._other) > LEAP:
            self.leapt = offset - (self._offset if self._since is None else self._other)
            self._other, self._since = offset, now
        elif now - self._since >= TRUST:
            self._offset, self._since = offset, None
        return ticks + self._offset
