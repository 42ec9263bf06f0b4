"""Who is in the same rack, or on the same site?"""

from balancers.base import Candidates, Jitter, NodeInfo
from balancers.preferring import Preferring


class RackAffinity(Preferring):
    """Those whose metadata say the same as this node's, in turn; all, if that is nobody."""

    def __init__(self, jitter: Jitter, metadata: str = "rack") -> None:
        """`metadata`: the name under which a node says where it is."""
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
