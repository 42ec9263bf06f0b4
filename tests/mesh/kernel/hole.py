"""A firewall in the simulated network."""

from typing import Any, cast

from tests.simulation import SimNode


class Hole:
    """An endpoint that never answers."""

    name = "hole"

    def __init__(self) -> None:
        self.came_in: dict[Any, Any] = {}

    def heard_on(self, pipe: Any, frames: list[bytes]) -> None:
        pass


def hole() -> SimNode:
    """Return an endpoint to be bound at an address."""
    return cast(SimNode, Hole())
