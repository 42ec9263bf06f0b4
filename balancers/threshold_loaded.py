"""Selection of nodes below a load threshold."""

from mesh.balancers.base import Candidates, Jitter, NodeInfo
from mesh.balancers.capacity import MISSED, load_of
from mesh.balancers.least_loaded import LeastLoaded
from mesh.balancers.preferring import Preferring


class ThresholdLoaded(Preferring):
    """Picks in turn among the nodes whose load is at most the threshold.

    If there are none, it picks as LeastLoaded does. Nodes without a recent figure count as below the
    threshold.
    """

    def __init__(self, jitter: Jitter, threshold: float = 0.8) -> None:
        """Set the threshold, from 0 (idle) to 1 (busy)."""
        super().__init__(jitter)
        self._threshold = threshold
        self._fresh = MISSED * NodeInfo("").interval
        self._others = LeastLoaded(jitter)

    def started(self, node_info: NodeInfo) -> None:
        super().started(node_info)
        self._fresh = MISSED * node_info.interval

    def preferred(self, candidates: Candidates) -> Candidates:
        loads = [load_of(candidate, self._fresh) for candidate in candidates]
        return [
            c for c, load in zip(candidates, loads, strict=True) if load is None or load <= self._threshold
        ]
