"""Whose turn is it to be probed, and whom could we ask to help?"""

from collections.abc import Callable


class Roster:
    """The other alive nodes, in an order that is shuffled when everybody has had a turn.

    Round after round, instead of a pick at random each time, bounds how long a death goes unseen: two
    rounds. `jitter` gives chance, in [0, 1).
    """

    def __init__(self, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self._order: list[bytes] = []
        self._place: dict[bytes, int] = {}
        self._turn = 0  # place of the next; those before it have had theirs

    def __len__(self) -> int:
        return len(self._order)

    def add(self, uuid: bytes) -> None:
        """A new one has its turn still in this round, at a random place in it."""
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

    def next(self) -> bytes | None:
        """The member whose turn it is; None if nobody else is there."""
        if not self._order:
            return None
        if self._turn == len(self._order):
            self._shuffle()
        self._turn += 1
        return self._order[self._turn - 1]

    def some(self, most: int, without: bytes) -> list[bytes]:
        """So many others, if there are."""
        size = len(self._order)
        if not size:
            return []
        # The order is random already, so neighbours in it are as good as picks one by one.
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
