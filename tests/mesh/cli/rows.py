"""Answers of a node to "ls", for tests of their output."""

from typing import Any


def row(name: str, messages: int = 0, waited: float = 0.0, **more: Any) -> dict[str, Any]:
    """Return the row of a half-busy node, for which `messages` wait here, the oldest for `waited` s."""
    return {
        "name": name, "uuid": "", "address": "tcp://127.0.0.1:1", "via": "mdns", "state": "alive",
        "link": "logged in", "data": True, "rtt": 0.001, "boot": 1, "age": 1.0, "cpu": 50.0,
        "ram_free": 6_000_000_000, "ram_total": 8_000_000_000, "load": 0.5, "lag": 0.0004,
        "software": "heronry 0.1.0", "up": 60.0, "state_age": 1.5, "published": 1234.5, "delivered": 0.0,
        "pending": 7, "waiting": 0, "sessions": 1, "links": 2, "queued": 0, "consumers": 0,
        "tailback": {"messages": messages, "bytes": messages * 100, "age": waited}, **more,
    }  # fmt: skip


UNHEARD: dict[str, Any] = dict.fromkeys((
    "cpu", "ram_free", "ram_total", "load", "lag", "software", "up", "state_age", "published", "delivered",
    "pending", "waiting", "sessions", "links", "queued", "consumers",
))  # fmt: skip


def listed(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"nodes": list(rows), "scope": "mesh", "links": "any", "keys": False, **more}
