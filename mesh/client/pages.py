"""A reply that comes in pages: how is it put together?"""

from __future__ import annotations

from typing import Any

from mesh.errors import RemoteError


def goes_on(value: Any) -> str:
    """After which place to ask on; "" = that was all."""
    after = value.get("next") if isinstance(value, dict) else ""
    return after if isinstance(after, str) else ""


def joined(value: dict[str, Any], page: Any) -> dict[str, Any]:
    """With the page that follows it: lists go on, of all else the last word counts. RemoteError for one that
    leads back."""
    if not isinstance(page, dict) or (goes_on(page) and goes_on(page) <= goes_on(value)):
        raise RemoteError("the node's reply goes round in circles", code="MALFORMED")
    whole = {**value, "next": "", **page}
    for name, part in page.items():
        before = value.get(name)
        if isinstance(part, list) and isinstance(before, list):
            whole[name] = before + part
    return whole
