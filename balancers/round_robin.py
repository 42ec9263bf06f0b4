"""Plain round robin."""

from collections.abc import Mapping

from balancers.base import Candidates, Message
from balancers.in_turn import InTurn, key_of


class RoundRobin(InTurn):
    """Picks each candidate equally often, in turn, for each address separately."""

    def weights(self, candidates: Candidates, message: Message | None) -> tuple[str, Mapping[str, float]]:
        return key_of(message), {candidate.node: 1.0 for candidate in candidates}
