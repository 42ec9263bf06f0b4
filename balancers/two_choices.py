"""Which of two, drawn by chance, is better?"""

from collections.abc import Sequence

from balancers.base import Candidates, Message, at_least_one
from balancers.capacity import capacities, tempered
from balancers.least_loaded import BAND, LeastLoaded


class TwoChoices(LeastLoaded):
    """The better of two that are drawn: latency x (sent + outstanding + 1) / (capacity x weight).

    No candidate, however good it looks, is taken by more than the senders that draw it: 2 of k. Best where
    many send to many, and where the ways to them differ.
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
        """By how much one more message raises the score of each."""
        measured = [candidate.latency if candidate.latency > 0 else None for candidate in candidates]
        # A node that answers at once because it does nothing must not draw everything to itself.
        latencies = tempered([latency for latency in measured if latency is not None], measured)
        rooms = capacities(candidates, self._interval)
        return [latency / room for latency, room in zip(latencies, rooms, strict=True)]

    def _better(self, scores: Sequence[float]) -> int:
        """The place of the better of two; within 10 % the one that was drawn first."""
        first = int(self._jitter() * len(scores))
        if len(scores) == 1:
            return first
        second = int(self._jitter() * (len(scores) - 1))
        second += second >= first  # never the same one twice
        return second if scores[second] * BAND < scores[first] else first
