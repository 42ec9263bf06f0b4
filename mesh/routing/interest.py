"""What do this node's clients want from everybody else? One upstream query, however many clients."""

from collections import Counter

from mesh.wire.commands import Interest, Query


class Interests:
    """Reference counts of queries. Each change has a version, so that peers can confirm it."""

    def __init__(self) -> None:
        self.version = 0
        self._counts: Counter[Query] = Counter()

    def __bool__(self) -> bool:
        return bool(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def add(self, query: Query) -> Interest | None:
        """What peers must be told; None when they know."""
        self._counts[query] += 1
        return self._change(add=(query,)) if self._counts[query] == 1 else None

    def discard(self, query: Query) -> Interest | None:
        """Likewise when one client needs it no more."""
        self._counts[query] -= 1
        if self._counts[query] > 0:
            return None
        del self._counts[query]
        return self._change(remove=(query,))

    def full(self, position: int) -> Interest:
        """Everything, for a peer that has just logged in."""
        return Interest(self.version, True, add=tuple(self._counts), position=position)

    def _change(self, add: tuple[Query, ...] = (), remove: tuple[Query, ...] = ()) -> Interest:
        self.version += 1
        return Interest(self.version, False, add=add, remove=remove)
