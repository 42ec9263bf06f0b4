"""What is watched at all other nodes, and how far has each of them heard that?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mesh.core.presence.registry import ServedName
from mesh.errors import RemoteError
from mesh.wire.commands import Serving, Watch

EACH = 512  # names in one message, at most
LONG = 48 * 1024  # bytes of names in one, about


@dataclass(slots=True)
class WatchedName:
    """A name that is watched since that version; `held` by so many clients, else until nobody uses it."""

    version: int
    used: float
    held: int = 0
    is_known: bool = False  # all have said once whether they serve it


@dataclass(slots=True)
class WatchLink:
    """A node's side of it, on the connection that stands."""

    number: int = 0  # messages that it has sent
    knows: int = -1  # the version that it has confirmed


class WatchedNames:
    """All names that are watched. Each change is a version; all nodes are told the same."""

    def __init__(self) -> None:
        self.names: dict[ServedName, WatchedName] = {}
        self._version = 0
        self._added: dict[ServedName, None] = {}  # and not told yet
        self._removed: dict[ServedName, None] = {}
        self._heard: dict[bytes, WatchLink] = {}

    def used(self, name: ServedName, now: float) -> bool:
        """Somebody wants to know of it; is that new?"""
        watched = self.names.get(name)
        if watched is not None:
            watched.used = now
            return False
        # It goes out with this turn, under the next version.
        self.names[name] = WatchedName(self._version + 1, now)
        if name in self._removed:
            del self._removed[name]
        self._added[name] = None
        return True

    def hold(self, name: ServedName, change: int) -> None:
        """A client wants to know of it all the time, or no more."""
        if name in self.names:
            self.names[name].held += change

    def idle(self, since: float) -> list[ServedName]:
        """Give up what nobody has used for long; returns it."""
        idle = [name for name, w in self.names.items() if w.used < since and not w.held]
        for name in idle:
            del self.names[name]
            if name in self._added:
                del self._added[name]
            else:
                self._removed[name] = None
        return idle

    def news(self) -> Iterator[Watch]:
        """What all nodes are to be told now."""
        if not self._added and not self._removed:
            return
        self._version += 1
        added, removed = list(self._added), list(self._removed)
        self._added, self._removed = {}, {}
        cuts = [((), cut) for cut in _cuts(removed)] + [(cut, ()) for cut in _cuts(added)]
        for left, (add, remove) in zip(reversed(range(len(cuts))), cuts, strict=True):
            yield Watch(self._version, False, left > 0, tuple(add), tuple(remove))

    def full(self, uuid: bytes) -> Iterator[Watch]:
        """All that is watched, for a node that has just logged in; what is new follows with the news."""
        self._heard[uuid] = WatchLink()
        names = [name for name in self.names if name not in self._added]
        cuts = list(_cuts(names)) or [[]]
        for left, add in zip(reversed(range(len(cuts))), cuts, strict=True):
            yield Watch(self._version, True, left > 0, tuple(add))

    def heard(self, uuid: bytes, command: Serving) -> None:
        """A node says who serves what. RemoteError for a hole in it."""
        heard = self._heard.setdefault(uuid, WatchLink())
        if command.number != heard.number + 1:
            what = f"a node says number {command.number} of what it serves after {heard.number}"
            raise RemoteError(what, code="OUT_OF_ORDER")
        heard.number = command.number
        heard.knows = max(heard.knows, command.knows)

    def confirmed(self, uuid: bytes) -> int:
        """The version that it has heard; -1: none, on this connection."""
        heard = self._heard.get(uuid)
        return -1 if heard is None else heard.knows

    def lost(self, uuid: bytes) -> None:
        """Its connection is gone."""
        self._heard.pop(uuid, None)


def _cuts(names: Sequence[ServedName]) -> Iterator[Sequence[ServedName]]:
    cut: list[ServedName] = []
    size = 0
    for name in names:
        cut.append(name)
        size += 4 * len(name[1])
        if len(cut) == EACH or size >= LONG:
            yield cut
            cut, size = [], 0
    if cut:
        yield cut
