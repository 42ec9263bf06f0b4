"""The time for which the node has been away: nobody shall wait for it in silence."""

from __future__ import annotations

from collections.abc import Callable

from mesh.client.core.desk import Alarm, ClientDesk
from mesh.client.core.effects import Report

AWAY = 5.0  # s without a node, after which it is said what waits for it
AWAY_AGAIN = 60.0  # s … and then again and again


class Absence:
    """A spell without a node. `waiting` says which node it is and what waits for it, "" if nothing does."""

    def __init__(self, desk: ClientDesk, waiting: Callable[[], str]) -> None:
        self._desk, self._waiting = desk, waiting
        self._since = 0.0
        self._alarm: Alarm | None = None

    def begin(self, since: float) -> None:
        """Nothing was heard of it since then."""
        self.end()
        self._since = since
        self._later(AWAY - (self._desk.now - since))

    def end(self) -> None:
        """Its end: it is there, or nobody waits any more."""
        if self._alarm is not None:
            self._alarm.cancel()

    def _later(self, seconds: float) -> None:
        self._alarm = self._desk.later(max(0.0, seconds), self._ring)

    def _ring(self) -> None:
        if waiting := self._waiting():
            self._desk.do(Report("waiting", f"away for {self._desk.now - self._since:.0f} s: {waiting}"))
        self._later(AWAY_AGAIN)
