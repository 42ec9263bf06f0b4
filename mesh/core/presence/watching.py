"""The names that this node watches at all others, and how far each node has confirmed them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mesh.core.presence.registry import ServedName
from mesh.errors import RemoteError
from mesh.wire.commands import Serving, Watch

EACH = 512  # names in one message
LONG = 48 * 1024  # approximate bytes of names in one message


@dataclass(slots=True)
class WatchedName:
    """A name that is watched since `version`.

    A name is kept while it is used, or watched by clients, of which `held` is the number.
    """

    version: int
    used: float
    held: int = 0
    is_known: bool = False  # whether every node has once reported its servers


@dataclass(slots=True)
class WatchLink:
    """The state of a node on its open connection."""

    number: int = 0  # messages received from it
    knows: int = -1  # version that it has confirmed


class WatchedNames:
    """The names whose consumers other nodes report to this node, from the first use until they are idle.

    Each change has a version, which the nodes confirm. All nodes receive the same changes.
    """

    def __init__(self) -> None:
        self.names: dict[ServedName, WatchedName] = {}
        self._version = 0
        self._added: dict[ServedName, None] = {}  # and not sent yet
        self._removed: dict[ServedName, None] = {}
        self._heard: dict[bytes, WatchLink] = {}

    def used(self, name: ServedName, now: float) -> bool:
        """Record a use of the name, and return whether it is newly watched."""
        watched = self.names.get(name)
        if watched is not None:
            watched.used = now
            return False
        # The name is sent at the end of the event, under the next version.
        self.names[name] = WatchedName(self._version + 1, now)
        if name in self._removed:
            del self._removed[name]
        self._added[name] = None
        return True

    def hold(self, name: ServedName, change: int) -> None:
        """Add `change` to the number of clients that watch the name."""
        if name in self.names:
            self.names[name].held += change

    def idle(self, since: float) -> list[ServedName]:
        """Stop watching names that were not used since `since`, and that no client watches; return them."""
        idle = [name for name, w in self.names.items() if w.used < since and not w.held]
        for name in idle:
            del self.names[name]
            if name in self._added:
                del self._added[name]
            else:
                self._removed[name] = None
        return idle

    def news(self) -> Iterator[Watch]:
        """Yield the commands with the changes since the last call, for all nodes."""
        if not self._added and not self._removed:
            return
        self._version += 1
        added, removed = list(self._added), list(self._removed)
        self._added, self._removed = {}, {}
        cuts = [((), cut) for cut in _cuts(removed)] + [(cut, ()) for cut in _cuts(added)]
        for left, (add, remove) in zip(reversed(range(len(cuts))), cuts, strict=True):
            yield Watch(self._version, False, left > 0, tuple(add), tuple(remove))

    def full(self, uuid: bytes) -> Iterator[Watch]:
        """Yield the commands with all watched names for a node that has logged in.

        Later changes follow with the news.
        """
        self._heard[uuid] = WatchLink()
        names = [name for name in self.names if name not in self._added]
        cuts = list(_cuts(names)) or [[]]
        for left, add in zip(reversed(range(len(cuts))), cuts, strict=True):
            yield Watch(self._version, True, left > 0, tuple(add))

    def heard(self, uuid: bytes, command: Serving) -> None:
        """Record a report of a node. Raises RemoteError for a missing number."""
        heard = self._heard.setdefault(uuid, WatchLink())
        if command.number != heard.number + 1:
            what = f"a node sent service update {command.number} after {heard.number}"
            raise RemoteError(what, code="OUT_OF_ORDER")
        heard.number = command.number
        heard.knows = max(heard.knows, command.knows)

    def confirmed(self, uuid: bytes) -> int:
        """Return the version that the node has confirmed on its connection, or -1."""
        heard = self._heard.get(uuid)
        return -1 if heard is None else heard.knows

    def lost(self, uuid: bytes) -> None:
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
