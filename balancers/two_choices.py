"""Selection of the better of two random nodes."""

from collections.abc import Sequence

from mesh.balancers.base import Candidates, Message, at_least_one
from mesh.balancers.capacity import capacities, tempered
from mesh.balancers.least_loaded import BAND, LeastLoaded


class TwoChoices(LeastLoaded):
    """Picks the better of two random nodes.

    The lower score of latency x (sent + outstanding + 1) / (capacity x weight) is better. Among k candidates,
    each sender draws a given candidate with a chance of 2 in k, so even the best one is not flooded. The
    strategy suits many senders with many receivers, and receivers whose latencies differ.
    """

    def assign(self, candidates: Candidates, n: int, message: Message | None = None) -> dict[str, int]:
        steps = self._steps(at_least_one(candidates))
        scores = [(c.sent + c.outstanding + 1) * step for c, step in zip(candidates, steps, strict=True)]
        counts: dict[str, int] = {}
        for _ in range(n):
            place = self._better(scores)
            scores[place] += steps[place]
            node = candidates[place].node
            counts[node] = counts.get(node, 0) + 1
        return counts

    def _steps(self, candidates: Candidates) -> list[float]:
        """Return the increase of each candidate's score per message."""
        measured = [candidate.latency if candidate.latency > 0 else None for candidate in candidates]
        # A node that answers fast because it does no work must not attract all messages.
        latencies = tempered([latency for latency in measured if latency is not None], measured)
        rooms = capacities(candidates, self._interval)
        return [latency / room for latency, room in zip(latencies, rooms, strict=True)]

    def _better(self, scores: Sequence[float]) -> int:
        """Return the index of the better of two random scores, or of the first if both are within 10 %."""
        first = int(self._jitter() * len(scores))
        if len(scores) == 1:
            return first
        second = int(self._jitter() * (len(scores) - 1))
        second += second >= first  # two different indexes
        return second if scores[second] * BAND < scores[first] else first
