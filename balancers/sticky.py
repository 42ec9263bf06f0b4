"""Affinity by a header: the same value goes to the same node."""

from hashlib import blake2b

from mesh.balancers.base import Candidates, Jitter, Message, Strategy, at_least_one
from mesh.balancers.weighted_round_robin import WeightedRoundRobin


class Sticky(Strategy):
    """Picks the same node for the same header value at every sender, or picks in turn without the header.

    A hash of node and value ranks the candidates for each value, and the highest is picked. If a node leaves,
    only its values move, evenly to the others. A new node receives its share, and no other values move.
    """

    reads_message = True

    def __init__(self, jitter: Jitter, header: str = "sticky") -> None:
        """Set the name of the header whose value decides."""
        super().__init__(jitter)
        self._header = header
        self._without = WeightedRoundRobin(jitter)

    def pick(self, candidates: Candidates, message: Message | None = None) -> str:
        value = self._value(message)
        if value is None:
            return self._without.pick(candidates, message)
        return max((candidate.node for candidate in at_least_one(candidates)), key=lambda n: _rank(n, value))

    def assign(self, candidates: Candidates, n: int, message: Message | None = None) -> dict[str, int]:
        if self._value(message) is None:
            return self._without.assign(candidates, n, message)
        node = self.pick(candidates, message)
        return {node: n} if n else {}

    def order(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        value = self._value(message)
        if value is None:
            return self._without.order(candidates, message)
        nodes = (candidate.node for candidate in at_least_one(candidates))
        return sorted(nodes, key=lambda node: _rank(node, value), reverse=True)

    def _value(self, message: Message | None) -> str | None:
        return message.headers.get(self._header) if message is not None else None


def _rank(node: str, value: str) -> bytes:
    return blake2b(f"{node}\0{value}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
