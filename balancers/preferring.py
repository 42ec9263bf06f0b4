"""Strategies that prefer some candidates over all others."""

from abc import abstractmethod

from mesh.balancers.base import Candidates, Jitter, Message, NodeInfo, Strategy, at_least_one
from mesh.balancers.weighted_round_robin import WeightedRoundRobin


class Preferring(Strategy):
    """A balancer that picks preferred nodes in turn, or other nodes if none is preferred."""

    def __init__(self, jitter: Jitter) -> None:
        super().__init__(jitter)
        self._among: Strategy = WeightedRoundRobin(jitter)  # for preferred candidates
        self._others: Strategy = self._among  # if no candidate is preferred

    @abstractmethod
    def preferred(self, candidates: Candidates) -> Candidates:
        """Return the preferred candidates: some, none or all."""

    def pick(self, candidates: Candidates, message: Message | None = None) -> str:
        best = self.preferred(at_least_one(candidates))
        return self._among.pick(best, message) if best else self._others.pick(candidates, message)

    def assign(self, candidates: Candidates, n: int, message: Message | None = None) -> dict[str, int]:
        best = self.preferred(at_least_one(candidates))
        return self._among.assign(best, n, message) if best else self._others.assign(candidates, n, message)

    def order(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        best = self.preferred(at_least_one(candidates))
        first = self._among.order(best, message) if best else []
        rest = [candidate for candidate in candidates if candidate.node not in first]
        return first + (self._others.order(rest, message) if rest else [])

    def started(self, node_info: NodeInfo) -> None:
        self._among.started(node_info)
        self._others.started(node_info)
