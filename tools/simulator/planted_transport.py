"""Planted bugs in how a process follows its connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mesh.transport.inbound import Arrivals

Patch = tuple[Any, str, Any]


def ends_by_descriptor() -> list[Patch]:
    """Attribute the end of a connection to the owner of the descriptor when the end is read."""

    def spoke(self: Any, key: Any, place: Any, catch_up: Any) -> None:
        self.places[key] = place
        self._newest[place] = key

    return [(Arrivals, "accepted", lambda self, place: None), (Arrivals, "spoke", spoke)]


# Seed, broken law and patches by the name of the bug.
TRANSPORT: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "an end is that of whoever has the descriptor now": (2, "TP1", ends_by_descriptor)
}
