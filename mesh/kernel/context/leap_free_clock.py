"""The clock by which messages expire: the wall clock without sudden leaps.

Small corrections of the wall clock are followed immediately. After a leap, the old time continues by the
monotonic clock until the new time has been stable for a while, so that a short error expires no messages.
"""

LEAP = 60_000_000_000  # ns
TRUST = 600.0  # s that a clock must be stable after a leap


class LeapFreeClock:
    """The wall clock in ns since 1970, without its leaps."""

    def __init__(self) -> None:
        self._offset: int | None = None  # trusted clock minus monotonic clock
        self._other = 0  # offset of the clock that is not trusted yet
        self._since: float | None = None  # when that offset began
        self.leapt = 0  # ns of a leap at the latest call, or 0

    def at(self, now: float, wall: int) -> int:
        """Return the time to use at `now`, when the wall clock shows `wall`, and set `leapt`."""
        ticks = int(now * 1e9)
        offset = wall - ticks
        self.leapt = 0
        if self._offset is None or abs(offset - self._offset) <= LEAP:  # as a rule
            self._offset, self._since = offset, None
            return wall
        if self._since is None or abs(offset - self._other) > LEAP:
            self.leapt = offset - (self._offset if self._since is None else self._other)
            self._other, self._since = offset, now
        elif now - self._since >= TRUST:
            self._offset, self._since = offset, None
        return ticks + self._offset
