"""Preference for nodes in the same rack or location."""

from mesh.balancers.base import Candidates, Jitter, NodeInfo
from mesh.balancers.preferring import Preferring


class RackAffinity(Preferring):
    """Picks in turn among the nodes with this node's metadata value, or among all nodes if there are none."""

    def __init__(self, jitter: Jitter, metadata: str = "rack") -> None:
        """Use the metadata field named `metadata` as the location of a node."""
        super().__init__(jitter)
        self._name = metadata
        self._rack: str | None = None

    def started(self, node_info: NodeInfo) -> None:
        super().started(node_info)
        self._rack = node_info.metadata.get(self._name)

    def preferred(self, candidates: Candidates) -> Candidates:
        if self._rack is None:
            return []
        return [c for c in candidates if c.is_here or c.metadata.get(self._name) == self._rack]
