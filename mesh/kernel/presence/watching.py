"""The names that this node watches at all other nodes, and the version that each node has confirmed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from mesh.flow.parts import changes, cut_by_size
from mesh.wire.commands import Watch

ServedName = tuple[str, str]  # kind and name
EACH = 512  # names in one message


@dataclass(slots=True)
class WatchedName:
    """A name that has been watched since `version`.

    The name is kept while it is used, or while any client watches it; `held` is the number of such clients.
    """

    version: int
    used: float
    held: int = 0
    is_known: bool = False  # whether every node has once reported its servers


class WatchedNames:
    """The names whose consumers other nodes report to this node, from the first use until they are idle.

    Each change has a version, which the nodes confirm. All nodes receive the same changes.
    """

    def __init__(self) -> None:
        self.names: dict[ServedName, WatchedName] = {}
        self._version = 0
        self._added: dict[ServedName, None] = {}  # and not sent yet
        self._removed: dict[ServedName, None] = {}
        self._confirmed: dict[Hashable, int] = {}  # version that each node has confirmed on its connection

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

    def stop_unused(self, since: float) -> list[ServedName]:
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
        added, removed = _parts(self._added), _parts(self._removed)
        self._added, self._removed = {}, {}
        for add, remove, has_more in changes(removed, added):
            yield Watch(self._version, False, has_more, add, remove)

    def full(self, node: Hashable) -> Iterator[Watch]:
        """Yield the commands with all watched names for a node that has logged in.

        Names that are not announced yet follow with `news`.
        """
        self.lost(node)
        names = _parts(name for name in self.names if name not in self._added)
        for add, _, has_more in changes((), names):
            yield Watch(self._version, True, has_more, add)

    def record_complete(self, node: Hashable, version: int) -> None:
        """Record that the node has reported all its servers of the names up to a version."""
        self._confirmed[node] = max(version, self.confirmed(node))

    def confirmed(self, node: Hashable) -> int:
        """Return the version that the node has confirmed on its connection, or -1."""
        return self._confirmed.get(node, -1)

    def lost(self, node: Hashable) -> None:
        self._confirmed.pop(node, None)


def _parts(names: Iterable[ServedName]) -> list[tuple[ServedName, ...]]:
    return list(cut_by_size(names, lambda name: 4 * len(name[1]), EACH))
