"""Whose turn is it, if more consumers, or a higher weight, mean more turns?"""

from collections.abc import Mapping, Sequence

from balancers.base import Candidates, Jitter, Message, Registration
from balancers.capacity import weights
from balancers.in_turn import InTurn


class WeightedRoundRobin(InTurn):
    """In turn, as often as its weight says; where the message's key has consumers, by weight x consumers."""

    def __init__(self, jitter: Jitter) -> None:
        super().__init__(jitter)
        self._consumers: dict[str, dict[str, int]] = {}  # by address, by node; never 0

    def weights(self, candidates: Candidates, message: Message | None) -> tuple[str, Mapping[str, float]]:
        address = message.key if message is not None else ""
        consumers = self._consumers.get(address)
        by_node = {c.node: weight for c, weight in zip(candidates, weights(candidates), strict=True)}
        if consumers is None:
            return "", by_node
        return address, {node: weight * consumers.get(node, 0) for node, weight in by_node.items()}

    def registrations(self, delta: Sequence[Registration]) -> None:
        for told in delta:
            consumers = self._consumers.setdefault(told.address, {})
            # From 0: the first consumer of a node counts as much as any other.
            count = consumers.pop(told.node, 0) + told.change
            if count > 0:
                consumers[told.node] = count
            if not consumers:
                del self._consumers[told.address]
