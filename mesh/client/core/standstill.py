"""Detects from late alarms that the event loop of a client was blocked."""

from __future__ import annotations

from mesh.errors import LeaseOver

LONG = 5.0  # s, the shortest standstill that is logged
RECENT = 60.0  # s for which a standstill explains lost leases
ADVICE = "Run slow code in a thread: await asyncio.to_thread(function), or use mesh.sync."
TWICE = "A message may be processed twice: call extend() in time, or consume with a longer lease=."


class Standstill:
    """The last long standstill of one client."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._ended = float("-inf")

    def rang(self, due: float, now: float) -> str:
        """Record a standstill if an alarm rang at least LONG after it was due; return a line for the log.

        Return "" otherwise, and for further alarms of the same standstill.
        """
        if now - due < LONG or due < self._ended:
            return ""
        self._seconds, self._ended = now - due, now
        what = "the event loop was blocked, or this process was stopped"
        return f"{what}, for {self._seconds:.0f} s without contact with its node. {ADVICE}"

    def lease_over(self, what: str, now: float) -> LeaseOver:
        if now - self._ended > RECENT:
            return LeaseOver(what, hint=TWICE)
        blocked = f"The event loop of this client was blocked for {self._seconds:.0f} s"
        why = f"{blocked}, or its process was stopped."
        return LeaseOver(f"{what} {why}", hint=f"{ADVICE} Messages may be delivered twice.")
