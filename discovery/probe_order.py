"""Probing order of nodes, and selection of helpers."""

from collections.abc import Callable


class ProbeOrder:
    """The other living nodes in random order, reshuffled after each round.

    Unlike random picks, rounds guarantee that fewer than two rounds lie between two probes of a node.
    `jitter` returns random numbers in [0, 1).
    """

    def __init__(self, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self._order: list[bytes] = []
        self._place: dict[bytes, int] = {}
        self._turn = 0  # place of the next node; those before are done

    def __len__(self) -> int:
        return len(self._order)

    def add(self, uuid: bytes) -> None:
        """Insert a node at a random place in the rest of this round."""
        self._place[uuid] = len(self._order)
        self._order.append(uuid)
        self._swap(len(self._order) - 1, self._turn + self._below(len(self._order) - self._turn))

    def remove(self, uuid: bytes) -> None:
        place = self._place[uuid]
        if place < self._turn:
            self._turn -= 1
            self._swap(place, self._turn)
            place = self._turn
        self._swap(place, len(self._order) - 1)
        self._order.pop()
        del self._place[uuid]

    def next_node(self) -> bytes | None:
        """Return the next node to probe, or None if there are no other nodes."""
        if not self._order:
            return None
        if self._turn == len(self._order):
            self._shuffle()
        self._turn += 1
        return self._order[self._turn - 1]

    def some(self, most: int, without: bytes) -> list[bytes]:
        """Return up to `most` random nodes other than `without`."""
        size = len(self._order)
        if not size:
            return []
        # The order is random already, so adjacent nodes are as good as independent picks.
        start = self._below(size)
        picked = (self._order[(start + i) % size] for i in range(min(size, most + 1)))
        return [uuid for uuid in picked if uuid != without][:most]

    def _shuffle(self) -> None:
        for last in range(len(self._order) - 1, 0, -1):
            self._swap(last, self._below(last + 1))
        self._turn = 0

    def _swap(self, a: int, b: int) -> None:
        order = self._order
        order[a], order[b] = order[b], order[a]
        self._place[order[a]], self._place[order[b]] = a, b

    def _below(self, bound: int) -> int:
        return int(self._jitter() * bound)
