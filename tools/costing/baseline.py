"""The accepted costs of each path, and the figures of today that differ.

Each minor version of Python executes different instructions, and has rows of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.costing.paths import Cost

FILE = Path(__file__).resolve().parents[2] / "tests" / "costs.json"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
TOLERANCE = "tolerance"
USUAL = 0.03  # tolerance of a new row
LEAST = 0.1  # always tolerated: one instruction in ten messages
NAMED = 8  # most functions listed per path


@dataclass(frozen=True)
class Accepted:
    """The accepted cost of a path: figures and tolerances of an envelope and of each message."""

    figures: dict[str, dict[str, float]]
    tolerances: dict[str, float] = field(default_factory=dict)

    def tolerance(self, of: str) -> float:
        return self.tolerances.get(of, USUAL)


@dataclass(frozen=True)
class Change:
    """A figure that differs from the accepted one by more than its tolerance."""

    path: str
    of: str  # "envelope" or "message"
    kind: str
    was: float
    now: float

    @property
    def is_worse(self) -> bool:
        return self.now > self.was

    def __str__(self) -> str:
        part = f"{abs(self.now / self.was - 1):.1%} " if self.was else ""
        return (
            f"{self.path}: {part}{'more' if self.is_worse else 'fewer'} {self.kind} for each {self.of}: "
            f"{self.was:,g} -> {self.now:,g}"
        )


def read(file: Path, python: str = PYTHON) -> dict[str, Accepted] | None:
    """Return the accepted costs by path, or `None` if the file has none for this Python."""
    rows = _all(file).get(python)
    return None if rows is None else {path: _accepted(row) for path, row in rows.items()}


def _accepted(row: dict[str, dict[str, float]]) -> Accepted:
    figures = {of: {kind: n for kind, n in one.items() if kind != TOLERANCE} for of, one in row.items()}
    return Accepted(figures, {of: one.get(TOLERANCE, USUAL) for of, one in row.items()})


def write(file: Path, costs: Mapping[str, Cost], python: str = PYTHON) -> None:
    """Accept `costs` as the only ones for one Python version; a path keeps its tolerances."""
    before = read(file, python) or {}
    rows = {path: _row(cost, before.get(path, Accepted({}))) for path, cost in costs.items()}
    accepted = {**_all(file), python: rows}
    versions = (f' "{version}": {{\n{_lines(accepted[version])}\n }}' for version in sorted(accepted))
    file.write_text("{\n" + ",\n".join(versions) + "\n}\n")


def _row(cost: Cost, before: Accepted) -> dict[str, dict[str, float]]:
    return {of: {**one, TOLERANCE: before.tolerance(of)} for of, one in cost.figures.items()}


def _lines(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the rows as JSON, a line for the envelope and one for the message of each path."""
    paths = []
    for path in sorted(rows):
        each = ",\n".join(f"   {json.dumps(of)}: {json.dumps(one)}" for of, one in rows[path].items())
        paths.append(f"  {json.dumps(path)}: {{\n{each}\n  }}")
    return ",\n".join(paths)


def _all(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def changes(was: Mapping[str, Accepted], now: Mapping[str, Cost]) -> Iterator[Change]:
    """Yield the figures of paths on both sides that differ by more than the tolerance and LEAST."""
    for name in sorted(was.keys() & now.keys()):
        for of, figures in was[name].figures.items():
            for kind, before in figures.items():
                after = now[name].figures[of][kind]
                if abs(after - before) > max(was[name].tolerance(of) * before, LEAST):
                    yield Change(name, of, kind, before, after)


def grown(was: Mapping[str, int], now: Mapping[str, int]) -> list[str]:
    """Return at most NAMED functions that execute more instructions in a full envelope, the worst first."""
    more = {name: count - was.get(name, 0) for name, count in now.items()}
    worst = sorted((name for name in more if more[name] > 0), key=lambda name: -more[name])[:NAMED]
    return [f"{more[name]:+9,}  {name}  ({was.get(name, 0):,} -> {now[name]:,})" for name in worst]
