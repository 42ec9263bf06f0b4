"""Reports a recurring failure once when it begins, and once when it is over."""

from mesh.store.room import Tell

QUIET = 60.0  # s without recurrence until a failure is over


class Troubles:
    """A filter that reports each recurring failure only at its beginning and its end.

    `tell(level, text)` receives the reports.
    """

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self._last: dict[str, float] = {}  # time of the last occurrence of each failure

    def happens(self, what: str, text: str, now: float) -> None:
        """Report the failure `what`, if it is new."""
        if what not in self._last:
            self.tell("warning", text)
        self._last[what] = now

    def goes_well(self, what: str, text: str, now: float) -> None:
        """Record a success. If the failure has not recurred for QUIET s, it is over: report `text`."""
        if what in self._last and now - self._last[what] >= QUIET:
            del self._last[what]
            self.tell("info", text)
