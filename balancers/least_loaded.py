"""Who has the most room left?"""

from balancers.base import Candidates, Jitter, Message, NodeInfo, Strategy, at_least_one
from balancers.capacity import capacities

BAND = 1.1  # scores that are no more than this many times the best are as good as the best


class LeastLoaded(Strategy):
    """The one that has the least to do for what it can: (sent + outstanding + 1) / (capacity x weight).

    One of those within 10 % of the best is taken by chance, and what was sent counts before its receiver says
    so. So senders that see the same figures do not all run to the same node.
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
            # Scores only grow, so the band stays what it is, less those who outgrow it, until the best grows.
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
        """How much each can take; only their ratios mean anything."""
        return capacities(candidates, self._interval)
