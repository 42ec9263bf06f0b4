"""Planted bugs in slaves that change their parent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mesh.kernel.subscribers.refilling import Refilling

Patch = tuple[Any, str, Any]


def no_refill() -> list[Patch]:
    """Ask a new parent for nothing that the former one had not passed on."""
    return [(Refilling, "_begin", lambda self, domain, row, parent: None)]


# Seed, broken law and patches by the name of the bug.
REPARENT: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "a new parent is not asked for what the former one had": (22, "C1.2", no_refill)
}
