"""The true figures of a generated history, counted while it is written, for tests of its readers."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from mesh.snapshots.line import KINDS, STATE


@dataclass(slots=True)
class Boot:
    """The final counts of one boot of a node.

    Times are true ones, in ISO 8601.
    """

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
    """The figures of closed segments and, separately, of unfinished segments."""

    unique: Counter[str] = field(default_factory=Counter)  # kind -> different (observer_uuid, boot, line)
    states: int = 0  # different (uuid, boot, version)
    doubled: int = 0  # duplicate lines
    bad: Counter[str] = field(default_factory=Counter)  # reason -> lines
    segments: int = 0
    bytes: int = 0
    late: Counter[str] = field(default_factory=Counter)  # segments, lines
    unfinished: Counter[str] = field(default_factory=Counter)
    boots: list[Boot] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """Return the figures for JSON.

        `rows` has the lines and states without duplicates.
        """
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
