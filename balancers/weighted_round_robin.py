"""Round robin by weight and number of consumers."""

from collections.abc import Mapping

from mesh.balancers.base import Candidates, Message
from mesh.balancers.capacity import weights
from mesh.balancers.weighted_turns import WeightedTurns, key_of


class WeightedRoundRobin(WeightedTurns):
    """Picks candidates in proportion to weight, or weight x consumers if the address has consumers."""

    def weights(self, candidates: Candidates, message: Message | None) -> tuple[str, Mapping[str, float]]:
        by_node = {c.node: weight for c, weight in zip(candidates, weights(candidates), strict=True)}
        if any(c.consumers > 0 for c in candidates):
            by_node = {c.node: by_node[c.node] * max(0, c.consumers) for c in candidates}
        return key_of(message), by_node
