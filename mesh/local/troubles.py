"""What has a person been told already? Each trouble is told when it begins, and when it is over."""

from mesh.store.room import Tell

QUIET = 60.0  # s without it, after which a trouble is over: a disk that is nearly full fails now and then


class Troubles:
    """Says things once, however often they happen."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self._last: dict[str, float] = {}  # when each of those that are not over has happened last

    def happens(self, what: str, text: str, now: float) -> None:
        """Tell of a trouble that happens, if it is new."""
        if what not in self._last:
            self.tell("warning", text)
        self._last[what] = now

    def goes_well(self, what: str, text: str, now: float) -> None:
        """Note what did not fail this time; when that has been so for a while, `text` is said."""
        if what in self._last and now - self._last[what] >= QUIET:
            del self._last[what]
            self.tell("info", text)
