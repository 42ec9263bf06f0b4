"""Planted bugs in slaves that change their parent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mesh.kernel.subscribers.gap_reports import GapReports
from mesh.kernel.subscribers.refill import Refill
from mesh.kernel.subscribers.refilling import Refilling

Patch = tuple[Any, str, Any]


def no_refill() -> list[Patch]:
    """Ask a new parent for nothing that the former one had not passed on."""
    return [(Refilling, "_begin", lambda self, domain, row, parent: None)]


def page_in_part() -> list[Patch]:
    """Lose the first envelope of each page of a refill."""
    take_page = Refill.take_page

    def in_part(self: Any, page: Any, envelopes: Any, named: Any) -> list[Any]:
        found = take_page(self, page, envelopes, named)
        for lost in found[:1]:
            del self.open[lost.position]
        return found[1:]

    return [(Refill, "take_page", in_part)]


def swallows_gaps() -> list[Patch]:
    """Report no gap of a parent to the subscribers here."""
    return [(GapReports, "report_from_peer", lambda self, source, path, messages: None)]


# Seed, broken law and patches by the name of the bug.
REPARENT: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "a new parent is not asked for what the former one had": (22, "C1.2", no_refill),
    "a page of a refill is lost in part": (171, "C1.3", page_in_part),
    "a slave swallows the gaps of its parents": (133, "C1.3", swallows_gaps),
}
