"""Selection by free memory."""

from mesh.balancers.base import Candidates
from mesh.balancers.capacity import MISSED, tempered, weights
from mesh.balancers.least_loaded import LeastLoaded


class LeastMemory(LeastLoaded):
    """Picks the node with the lowest (sent + outstanding + 1) / (free memory x weight).

    Otherwise the strategy is that of LeastLoaded. Nodes without a recent figure count as the median.
    """

    def _rooms(self, candidates: Candidates) -> list[float]:
        fresh = MISSED * self._interval
        said = [
            float(max(1, c.ram_free))
            if c.ram_free is not None and c.age is not None and c.age <= fresh
            else None
            for c in candidates
        ]
        rooms = tempered([free for free in said if free is not None], said)
        return [room * weight for room, weight in zip(rooms, weights(candidates), strict=True)]
