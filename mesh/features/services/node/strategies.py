"""The interface for the choice between nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from mesh.balancers.base import Message, Registration

DecodeMessage = Callable[[], Message]


class NodeStrategies(Protocol):
    """Chooses between nodes, given the number of consumers at each."""

    def reads_message(self, address: str) -> bool: ...
    def assign(
        self, address: str, nodes: Mapping[str, int], n: int, message: DecodeMessage | None = None
    ) -> dict[str, int]: ...

    def several(
        self, address: str, nodes: Mapping[str, int], message: DecodeMessage | None = None
    ) -> list[str]: ...
    def registrations(self, delta: Sequence[Registration]) -> None: ...
    def sent_to(self, node: str, n: int = 1) -> None: ...
    def count_answers(self, node: str, n: int = 1, seconds: float | None = None) -> None: ...
