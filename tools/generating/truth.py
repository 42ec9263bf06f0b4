"""What is in a made-up history? Counted while it is written, so that readers of it can be tested."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from mesh.snapshots.line import KINDS, STATE


@dataclass(slots=True)
class Boot:
    """The counts of one boot of a node: the last that it wrote. Times are true ones, ISO 8601."""

    observer: str
    observer_uuid: str
    observer_boot: int
    began: str
    ended: str
    how: str  # stopped, killed, silent or gone
    lines: int
    balance: dict[str, dict[str, int | float]]  # node -> chosen, sent, asked, answered, seconds
    topics: dict[str, list[int]]  # topic -> messages, bytes
    services: dict[str, dict[str, int | float]]  # node -> requests, replies, failed, lost, seconds


@dataclass(slots=True)
class Truth:
    """Of closed segments; what is in one that was never finished counts only as such."""

    unique: Counter[str] = field(default_factory=Counter)  # kind -> different (observer_uuid, boot, line)
    states: int = 0  # different (uuid, boot, version)
    doubled: int = 0  # lines that are there once more
    bad: Counter[str] = field(default_factory=Counter)  # why -> lines
    segments: int = 0
    bytes: int = 0
    late: Counter[str] = field(default_factory=Counter)  # segments, lines
    unfinished: Counter[str] = field(default_factory=Counter)
    boots: list[Boot] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """For JSON. `rows`: what remains when each line is there once, and each state once."""
        unique = {kind: self.unique[kind] for kind in KINDS}
        rows = {**unique, STATE: self.states}
        bad = sum(self.bad.values())
        lines = sum(unique.values()) + self.doubled + bad
        return {
            "segments": self.segments,
            "bytes": self.bytes,
            "lines": lines,
            "unique": unique,
            "rows": rows,
            "all_rows": sum(rows.values()),
            "repeated": lines - bad - sum(rows.values()),
            "quarantined": bad,
            "bad": dict(self.bad),
            "late": dict(self.late),
            "unfinished": dict(self.unfinished),
            "boots": [asdict(boot) for boot in self.boots],
        }
