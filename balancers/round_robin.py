"""Whose turn is it?"""

from collections.abc import Mapping

from balancers.base import Candidates, Message
from balancers.in_turn import InTurn


class RoundRobin(InTurn):
    """In turn, each as often as any other."""

    def weights(self, candidates: Candidates, message: Message | None) -> tuple[str, Mapping[str, float]]:
        return "", {candidate.node: 1.0 for candidate in candidates}
