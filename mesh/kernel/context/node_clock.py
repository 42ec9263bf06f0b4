"""The clocks of a node: the time of the current event, the time of the next tick, and the timestamps."""

# Law 1: timestamps strictly increase, and continue after those of an earlier boot.
# Law 2: a timestamp is higher than each received one, unless that is too far ahead of the wall clock.
# Law 3: the clock for expiry does not follow a leap of the wall clock until the new time has been stable.

from __future__ import annotations

from collections.abc import Callable

from mesh.hops import inside, is_foreign
from mesh.kernel.context.leap_free_clock import LeapFreeClock
from mesh.wire.envelope import Envelope

AHEAD = 60_000_000_000  # ns that a timestamp of another node may be ahead of our clock


def is_followed(stamp: int, wall: int) -> bool:
    """Return whether the hybrid clock follows `stamp`, a timestamp of another node.

    A message with a timestamp too far ahead must not become a retained value: no message of this node would
    replace it until the clock has caught up.
    """
    return stamp < wall + AHEAD


class NodeClock:
    """The time of the event that is handled now, and the hybrid clock of a node.

    `on_leap(ns)` is called when the wall clock leaps.
    """

    def __init__(self, on_leap: Callable[[int], None]) -> None:
        self.now = 0.0
        self.wall = 0  # ns since 1970, at `now`
        self.believed = 0  # ns since 1970, by the clock for expiry
        self.alarm = 0.0  # the time by which tick() must be called
        self._believed = LeapFreeClock()
        self._on_leap = on_leap
        self._stamp = 0

    def set_time(self, now: float, wall: int) -> None:
        """Set the time of the event that is handled now."""
        self.now, self.wall = now, wall
        self.believed = self._believed.at(now, wall)
        if self._believed.leapt:
            self._on_leap(self._believed.leapt)

    def wake(self, at: float | None) -> None:
        """Schedule a call of `tick` at the time `at` or earlier; `None` schedules none."""
        if at is not None:
            self.alarm = min(self.alarm, at)

    @property
    def last_stamp(self) -> int:
        """A lower bound of the next timestamp, close to it."""
        return max(self.wall - 1, self._stamp)

    def stamp(self) -> int:
        """Return the next timestamp of the hybrid clock: wall time, but strictly increasing."""
        self._stamp = max(self.wall, self._stamp + 1)
        return self._stamp

    def stamped(self, stamp: int) -> None:
        """Continue after the timestamp that an earlier boot of this node reached."""
        self._stamp = max(self._stamp, stamp)

    def heard_stamp(self, stamp: int) -> None:
        """Make later timestamps of this node higher than a received one, unless it is too far ahead."""
        if is_followed(stamp, self.wall):  # else the other clock is wrong
            self._stamp = max(self._stamp, stamp)

    def observe_timestamp(self, envelope: Envelope) -> None:
        """Make later timestamps higher than that of a received envelope.

        For an envelope of another site, later timestamps also exceed the times of the envelope's hops in this
        site, so that gateways can tell which messages were published after the envelope could be read here.
        """
        self.heard_stamp(envelope.sent)
        if is_foreign(envelope.sender):
            self.heard_stamp(max((hop.at for hop in inside(envelope.route)), default=0))
