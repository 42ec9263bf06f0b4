"""The clients that were refused lately, with their reasons, for `mesh why client`."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from mesh.printable import harmless

KEPT = 256  # clients, the last ones
LATELY = 600.0  # s
LONGEST = 64  # letters of a name, and four times as many of a reason


class TurnedAway(NamedTuple):
    """The last refusal of a client; `at`: s of the desk."""

    code: str
    reason: str
    at: float


class RefusedClients:
    """The refusals by the names that the clients gave themselves: nothing of these is proven."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, TurnedAway] = OrderedDict()
        self._stranger: TurnedAway | None = None

    def add(self, name: str, code: str, reason: str, now: float) -> None:
        """Note that a client of that name was refused."""
        name = harmless(name[:LONGEST])
        self._last[name] = TurnedAway(code, harmless(reason[: 4 * LONGEST]), now)
        self._last.move_to_end(name)
        if len(self._last) > KEPT:
            self._last.popitem(last=False)

    def add_stranger(self, reason: str, now: float) -> None:
        """Note that a connection was ended before anybody gave a name: too many, or with wrong keys."""
        self._stranger = TurnedAway("", harmless(reason[: 4 * LONGEST]), now)

    def stranger(self, now: float) -> TurnedAway | None:
        """Return the last of these, if it is not long ago."""
        found = self._stranger
        return found if found is not None and now - found.at <= LATELY else None

    def of(self, name: str, now: float) -> TurnedAway | None:
        """Return the last refusal of that client, if it is not long ago. Other programs may have its name, so
        that one of them came in since says nothing.
        """
        found = self._last.get(name)
        return found if found is not None and now - found.at <= LATELY else None
