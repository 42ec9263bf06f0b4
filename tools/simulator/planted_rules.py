"""Planted bugs in changes of rules that all nodes share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mesh.kernel.forwarding.entry_routing import EntryRouting
from mesh.kernel.sharing.shared import Shared
from mesh.mapping.claims import Claims
from mesh.mapping.mapping import Mapping
from mesh.shared.table import RowTable

Patch = tuple[Any, str, Any]


def claims_stay() -> list[Patch]:
    """Look up claims in the previous rules."""
    adopt = Mapping.set_rules

    def stale(self: Any, rules: Any) -> None:
        before: Claims | None = self.__dict__.get("_claims")
        adopt(self, rules)
        if before is not None and self.rules:
            self._claims = before

    return [(Mapping, "set_rules", stale)]


def no_review() -> list[Patch]:
    """Do not route waiting messages again."""
    return [(EntryRouting, "decide_again", lambda self: None)]


def lower_wins() -> list[Patch]:
    """Let the lower timestamp win."""

    def is_news(self: Any, row: Any) -> bool:
        known = self._rows.get(row.name)
        return known is None or row.rank < known.rank

    return [(RowTable, "is_news", is_news)]


def unsigned_taken() -> list[Patch]:
    """Accept any signature."""
    return [(Shared, "_is_signed", lambda self, row: True)]


def older_taken() -> list[Patch]:
    """Let the last received list win."""
    return [(RowTable, "is_news", lambda self, row: row != self._rows.get(row.name))]


# Seed, broken law and patches by the name of the bug.
RULES: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "claims are not made anew when rules change": (0, "R-master", claims_stay),
    "what waits is not decided again when rules change": (0, "C2.4", no_review),
    "the lower stamp of two lists wins": (0, "R-newest", lower_wins),
    "a list that nobody has signed is taken": (0, "R-signed", unsigned_taken),
    "an older list is taken again": (0, "R-back", older_taken),
}
