"""Protection against third-party strategies that fail or return invalid names."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from mesh.balancers.base import (
    Balancer,
    Candidates,
    Jitter,
    Message,
    NodeInfo,
    Registration,
    at_least_one,
    reads_message,
)
from mesh.balancers.round_robin import RoundRobin

Picked = TypeVar("Picked")


class Guarded:
    """A third-party balancer whose errors and invalid results are replaced by results of RoundRobin.

    `faults` counts the errors and invalid results. `fault` describes the last one, or is "" if there was
    none. RoundRobin also replaces a missing `several`, which is no fault.
    """

    def __init__(self, name: str, inner: Balancer, jitter: Jitter) -> None:
        self.faults = 0
        self.fault = ""
        self.name = name
        self.reads_message = reads_message(inner)
        self._inner = inner
        self._instead = RoundRobin(jitter)

    def pick(self, candidates: Candidates, message: Message | None = None) -> str:
        names = _names(candidates)
        return self._checked(
            "pick",
            lambda it: it.pick(candidates, message),
            lambda node: isinstance(node, str) and node in names,
        )

    def assign(self, candidates: Candidates, n: int, message: Message | None = None) -> dict[str, int]:
        names = _names(candidates)

        def is_right(counts: dict[str, int]) -> bool:
            has_counts = all(type(count) is int and count > 0 for count in counts.values())
            return has_counts and counts.keys() <= names and sum(counts.values()) == n

        return self._checked("assign", lambda it: it.assign(candidates, n, message), is_right)

    def order(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        names = _names(candidates)
        return self._checked(
            "order",
            lambda it: it.order(candidates, message),
            lambda nodes: isinstance(nodes, list) and len(nodes) == len(names) and set(nodes) == names,
        )

    def several(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        names = _names(candidates)
        if not hasattr(self._inner, "several"):  # written for an earlier interface
            return self._instead.several(candidates, message)

        def is_right(nodes: list[str]) -> bool:
            return isinstance(nodes, list) and len(set(nodes)) == len(nodes) and set(nodes) <= names

        return self._checked("several", lambda it: it.several(candidates, message), is_right)

    def started(self, node_info: NodeInfo) -> None:
        self._checked("started", lambda it: it.started(node_info), lambda _: True)

    def registrations(self, delta: Sequence[Registration]) -> None:
        self._checked("registrations", lambda it: it.registrations(delta), lambda _: True)

    def _checked(
        self, what: str, ask: Callable[[Balancer], Picked], is_right: Callable[[Picked], bool]
    ) -> Picked:
        try:
            answer = ask(self._inner)
            if is_right(answer):
                return answer
            problem = f"answered {answer!r:.80}"
        except Exception as error:  # foreign code may raise anything
            problem = f"raised {type(error).__name__}: {error!s:.80}"
        self.faults += 1
        self.fault = f"balancer {self.name}: {what} {problem}; RoundRobin answered instead."
        return ask(self._instead)


def _names(candidates: Candidates) -> set[str]:
    return {candidate.node for candidate in at_least_one(candidates)}
