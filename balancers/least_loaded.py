"""Selection by free capacity."""

from mesh.balancers.base import Candidates, Jitter, Message, NodeInfo, Strategy, at_least_one
from mesh.balancers.capacity import capacities

# Scores up to this many times the best one count as equal to it.
BAND = 1.1


class LeastLoaded(Strategy):
    """Picks the node with the lowest (sent + outstanding + 1) / (capacity x weight).

    The pick is random among the nodes within 10 % of the best, and sent messages count even before the
    receiver reports them. Senders with the same figures therefore do not all pick the same node.
    """

    def __init__(self, jitter: Jitter) -> None:
        super().__init__(jitter)
        self._interval = 2.0

    def started(self, node_info: NodeInfo) -> None:
        self._interval = node_info.interval

    def pick(self, candidates: Candidates, message: Message | None = None) -> str:
        [node] = self.assign(candidates, 1, message)
        return node

    def assign(self, candidates: Candidates, n: int, message: Message | None = None) -> dict[str, int]:
        steps = [1 / room for room in self._rooms(at_least_one(candidates))]
        scores = [(c.sent + c.outstanding + 1) * step for c, step in zip(candidates, steps, strict=True)]
        counts: dict[str, int] = {}
        best, band = 0.0, list[int]()
        for _ in range(n):
            # Scores only grow, so the band stays the same, except for nodes that leave it, until the best
            # score grows.
            if (lowest := min(scores)) > best:
                best = lowest
                band = [place for place, score in enumerate(scores) if score <= best * BAND]
            place = band[int(self._jitter() * len(band))]
            scores[place] += steps[place]
            if scores[place] > best * BAND:
                band.remove(place)
            node = candidates[place].node
            counts[node] = counts.get(node, 0) + 1
        return counts

    def _rooms(self, candidates: Candidates) -> list[float]:
        """Return the capacity of each candidate; only the ratios of capacities matter."""
        return capacities(candidates, self._interval)
