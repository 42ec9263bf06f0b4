"""Lines and segments as nodes write them, for tests."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

START = datetime(2026, 1, 2, 3, 0, tzinfo=UTC)
KINDS: dict[str, dict[str, Any]] = {
    "state": {
        "up": 60.0, "software": "0.1.0", "cores": 4, "cpu": 12.5, "ram_free": 2**32, "ram_total": 2**33,
        "load": 0.25, "lag": 0.001, "published": 10.0, "delivered": 20.0, "pending": 0, "tailback": 0,
        "stored": 5, "sessions": 2, "subscriptions": 3, "links": 2, "age": 0.5,
    },
    "event": {"event": "joined", "text": "heron has joined"},
    "link": {"state": "logged in", "rtt": 0.001, "skew": 0.0},
    "queue": {
        "queue": "queue/jobs", "depth": 3, "bytes": 300, "oldest": 1.5, "consumers": 2, "arrives": 0.5,
        "leaves": 0.25, "dead": 1, "redelivered": 4, "moved_in": 3, "moved_out": 2, "ready": 2, "wants": 0,
    },
    "balance": {
        "strategy": "RoundRobin", "weight": 1.0, "chosen": 10, "sent": 10, "asked": 5, "answered": 5,
        "seconds": 0.01,
    },
    "topic": {"topic": "weather/berlin", "domain": "default", "messages": 7, "content": 700},
    "service": {
        "address": "jobs/render", "sent": 2, "requests": 9, "replies": 6, "failed": 1, "lost": 1,
        "refused": 0, "expired": 1, "seconds": 0.06, "p50": 0.009, "p99": 0.02,
    },
}  # fmt: skip
_numbers = count(1)


def uuid(node: str) -> str:
    """Return the 32 hexadecimal digits of the uuid of a node of that name."""
    return hashlib.md5(node.encode(), usedforsecurity=False).hexdigest()


def line(kind: str, **fields: Any) -> dict[str, Any]:
    """Return a whole, valid line; `line` (or `version`) is new each time. A field given as None is left out.

    `ts` and `wall` may be a datetime. The uuids follow from `observer` and `node`.
    """
    number = next(_numbers)
    made: dict[str, Any] = {
        "kind": kind,
        "cluster": "lab",
        "observer": "heron",
        "observer_boot": 1,
        "line": number,
        "ts": START,
        "node": "egret",
        "boot": 1,
    }
    made |= KINDS.get(kind, {}) | fields
    made.setdefault("observer_uuid", uuid(str(made["observer"])))
    made.setdefault("uuid", uuid(str(made["node"])))
    if kind == "state":
        made.setdefault("version", number)
        made.setdefault("wall", made["ts"])
    return {name: _plain(value) for name, value in made.items() if value is not None}


def segments(place: Path, lines: Iterable[Mapping[str, Any]]) -> list[Path]:
    """Write lines as their observers would: a new segment for each (observer, boot, hour)."""
    texts: dict[tuple[str, str], list[str]] = {}
    for each in lines:
        ts = str(each["ts"])
        writer = f"{each['observer']}-{str(each['observer_uuid'])[:8]}-{each['observer_boot']}"
        texts.setdefault((f"date={ts[:10]}/hour={ts[11:13]}", writer), []).append(json.dumps(each))
    last = Counter(path.name.rpartition("-")[0] for path in place.rglob("*.jsonl"))
    written = []
    for (folder, writer), content in texts.items():
        last[writer] += 1
        path = place / folder / f"{writer}-{last[writer]}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{text}\n" for text in content))
        written.append(path)
    return written


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value
