"""Planted bugs in clients."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from mesh.client.core.intake import Intake
from mesh.streams.outbox import Outbox

Patch = tuple[Any, str, Any]


def forgets_to_resend() -> list[Patch]:
    return [(Outbox, "resend", lambda self: [])]


def swallows_gaps() -> list[Patch]:
    arrived = Intake.on_item

    def as_if_none(self: Any, master: Any, envelope: Any, indices: Any, gap: int, position: int = 0) -> None:
        arrived(self, master, envelope, indices, 0, position)

    return [(Intake, "on_item", as_if_none)]


def shows_doubles() -> list[Patch]:
    return [(Intake, "_news", lambda self, master, envelope, indices: (indices, False, False))]


def acks_before_use() -> list[Patch]:
    arrived = Intake.on_item

    def at_once(self: Any, *args: Any) -> None:
        arrived(self, *args)
        self.mark_consumed()

    return [(Intake, "on_item", at_once)]


def window_stays_shut() -> list[Patch]:
    is_open = Outbox.open.fget  # type: ignore[attr-defined]

    def once_shut(self: Any) -> bool:
        self.__dict__.setdefault("planted", False)
        self.planted = self.planted or not is_open(self)
        return not self.planted

    return [(Outbox, "open", property(once_shut))]


# Profile, seed, broken law, patches and seconds by the name of the bug.
CLIENTS: dict[str, tuple[str, int, str, Callable[[], list[Patch]], float]] = {
    "a client sends nothing again": ("short", 6, "C2.4", forgets_to_resend, inf),
    "a client swallows a gap": ("short", 1, "C1.3", swallows_gaps, inf),
    "a client shows a message twice": ("short", 0, "C1.1", shows_doubles, inf),
    "a client acknowledges before use": ("slow", 60, "L1", acks_before_use, 25.0),
    "a client's window never opens again": ("slow", 60, "C2.4", window_stays_shut, 25.0),
}
