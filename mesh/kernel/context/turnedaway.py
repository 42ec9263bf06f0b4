"""The clients that were refused recently, with the reasons, for `mesh why client`."""

from __future__ import annotations

from typing import NamedTuple

from mesh.flow.bounded import Bounded
from mesh.printable import harmless

KEPT = 256  # clients, the last ones
LATELY = 600.0  # s that a refusal is recent
LONGEST = 64  # characters of a name; a reason may have 4 times that


class TurnedAway(NamedTuple):
    """The last refusal of a client; `at` is in seconds of the node's clock."""

    code: str
    reason: str
    at: float


class RefusedClients:
    """The refusals, by the unproven names that clients gave."""

    def __init__(self) -> None:
        self._last = Bounded[str, TurnedAway](KEPT)
        self._stranger: TurnedAway | None = None

    def add(self, name: str, code: str, reason: str, now: float) -> None:
        name = harmless(name[:LONGEST])
        self._last.keep(name, TurnedAway(code, harmless(reason[: 4 * LONGEST]), now))

    def add_stranger(self, reason: str, now: float) -> None:
        """Record a connection that was refused before its client gave a name, such as for wrong keys."""
        self._stranger = TurnedAway("", harmless(reason[: 4 * LONGEST]), now)

    def stranger(self, now: float) -> TurnedAway | None:
        """Return the last refusal of a client without a name, or `None` if it is not recent."""
        found = self._stranger
        return found if found is not None and now - found.at <= LATELY else None

    def last_refusal(self, name: str, now: float) -> TurnedAway | None:
        """Return the last refusal of a client with that name, or `None` if it is not recent.

        Several programs may use the same name, so a later login under it does not clear the refusal.
        """
        found = self._last.get(name)
        return found if found is not None and now - found.at <= LATELY else None
