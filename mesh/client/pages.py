"""Puts together a reply that comes in pages."""

from __future__ import annotations

from typing import Any

from mesh.errors import RemoteError


def goes_on(value: Any) -> str:
    """Return the place after which the next page starts; "" after the last one."""
    after = value.get("next") if isinstance(value, dict) else ""
    return after if isinstance(after, str) else ""


def joined(value: dict[str, Any], page: Any) -> dict[str, Any]:
    """Return a reply with its next page: lists are joined, other values replaced.

    Raises: RemoteError if the page does not advance.
    """
    if not isinstance(page, dict) or (goes_on(page) and goes_on(page) <= goes_on(value)):
        raise RemoteError("The pages of the node's reply form a loop", code="MALFORMED")
    whole = {**value, "next": "", **page}
    for name, part in page.items():
        before = value.get(name)
        if isinstance(part, list) and isinstance(before, list):
            whole[name] = before + part
    return whole
