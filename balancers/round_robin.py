"""Plain round robin."""

from collections.abc import Mapping

from mesh.balancers.base import Candidates, Message
from mesh.balancers.weighted_turns import WeightedTurns, key_of


class RoundRobin(WeightedTurns):
    """Picks each candidate equally often, in turn, for each message key separately."""

    def weights(self, candidates: Candidates, message: Message | None) -> tuple[str, Mapping[str, float]]:
        return key_of(message), {candidate.node: 1.0 for candidate in candidates}
