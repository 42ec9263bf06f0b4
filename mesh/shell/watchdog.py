"""Detects slow plug-ins, which block the node's only loop."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from mesh.balancers.base import Balancer, Candidates, Message, NodeInfo, Registration, reads_message
from mesh.flow.seldom import Seldom

BUDGET = 0.05  # s that a plug-in may take per answer
QUIET = 60.0  # s between two reports

T = TypeVar("T")


class WatchedStrategy:
    """Strategy that delegates to a plug-in, and reports slow calls to `tell`, at most once a minute."""

    def __init__(
        self,
        name: str,
        strategy: Balancer,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.reads_message = reads_message(strategy)
        self._strategy, self._tell, self._clock = strategy, tell, clock
        self._warnings = Seldom(QUIET)

    def pick(self, candidates: Candidates, message: Message | None = None) -> str:
        return self._timed(lambda: self._strategy.pick(candidates, message))

    def assign(self, candidates: Candidates, n: int, message: Message | None = None) -> dict[str, int]:
        return self._timed(lambda: self._strategy.assign(candidates, n, message))

    def order(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        return self._timed(lambda: self._strategy.order(candidates, message))

    def several(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        return self._timed(lambda: self._strategy.several(candidates, message))

    def started(self, node_info: NodeInfo) -> None:
        self._timed(lambda: self._strategy.started(node_info))

    def registrations(self, delta: Sequence[Registration]) -> None:
        self._timed(lambda: self._strategy.registrations(delta))

    def _timed(self, work: Callable[[], T]) -> T:
        began = self._clock()
        try:
            return work()
        finally:
            now = self._clock()
            if now - began > BUDGET and self._warnings.allows(now):
                self._tell(
                    f"balancer {self.name} blocked this node for {now - began:.2f} s with one "
                    f"answer; its limit is {BUDGET:g} s"
                )
