"""Who has the most memory free?"""

from balancers.base import Candidates
from balancers.capacity import MISSED, tempered, weights
from balancers.least_loaded import LeastLoaded


class LeastMemory(LeastLoaded):
    """The one that uses its memory the least: (sent + outstanding + 1) / (free memory x weight).

    As LeastLoaded, but for what counts as room. Who has said nothing, or nothing new, counts as typical.
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
