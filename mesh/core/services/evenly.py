"""A stand-in for the strategies: each in turn."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count

from balancers.base import Registration


class Evenly:
    """In turn."""

    def __init__(self) -> None:
        self._turn = count()

    def assign(
        self, address: str, nodes: Mapping[str, int], n: int, message: Callable[[], object] | None = None
    ) -> dict[str, int]:
        names = sorted(nodes)
        at = next(self._turn) % len(names)
        return {names[at]: n}

    def several(
        self, address: str, nodes: Mapping[str, int], message: Callable[[], object] | None = None
    ) -> list[str]:
        return sorted(nodes)

    def registrations(self, delta: Sequence[Registration]) -> None:
        pass

    def sent_to(self, node: str, n: int = 1) -> None:
        pass

    def answered(self, node: str, n: int = 1, seconds: float | None = None) -> None:
        pass
