"""Mistakes that are planted between sites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mesh.core.sites.gateway import Gateways
from mesh.sites.views import Views

Patch = tuple[Any, str, Any]


def told_once() -> list[Patch]:
    """Who comes and goes later is not told to other sites."""
    return [(Gateways, "tidy", lambda self: None)]


def seen_for_ever() -> list[Patch]:
    """A site that cannot be reached any more is still seen as it was."""
    return [(Views, "lost", lambda self, gateway, now, site=None: None)]


# Its name, seed and the law that it breaks.
SITES: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "other sites are told of nobody who comes later": (2, "S-views", told_once),
    "a site that nobody reaches is seen for ever": (6, "S-seen", seen_for_ever),
}
