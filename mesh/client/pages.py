"""Joins the pages of a long reply."""

from __future__ import annotations

from typing import Any

from mesh.errors import RemoteError


def goes_on(value: Any) -> str:
    """Return the argument `after` that requests the next page; "" if `value` is the last page."""
    after = value.get("next") if isinstance(value, dict) else ""
    return after if isinstance(after, str) else ""


def joined(value: dict[str, Any], page: Any) -> dict[str, Any]:
    """Return a reply joined with its next page: lists are concatenated, other values replaced.

    Raises: RemoteError if the page is not a dict, or does not advance.
    """
    if not isinstance(page, dict):
        raise RemoteError("A page of the node's reply is not a dict.", code="MALFORMED")
    if goes_on(page) and goes_on(page) <= goes_on(value):
        what = (
            f"The node's reply does not advance: page {goes_on(value)!r} names {goes_on(page)!r} as the next."
        )
        raise RemoteError(what, code="MALFORMED")
    whole = {**value, "next": "", **page}
    for name, part in page.items():
        before = value.get(name)
        if isinstance(part, list) and isinstance(before, list):
            whole[name] = before + part
    return whole
