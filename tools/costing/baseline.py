"""Does it cost more than it did?

Each minor version of Python has other instructions, and so figures of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tools.costing.paths import Cost

FILE = Path(__file__).resolve().parents[2] / "tests" / "costs.json"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
MORE = 0.03  # of what it was, which nobody has to explain
LEAST = 0.1  # … and one instruction in ten messages
NAMED = 8  # functions of a path that has become slower


@dataclass(frozen=True)
class Change:
    """A figure that is not what it was."""

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


def read(file: Path, python: str = PYTHON) -> dict[str, Cost] | None:
    """The costs of the paths when somebody accepted them; None: nobody has, on this Python."""
    accepted = _all(file).get(python)
    if accepted is None:
        return None
    return {name: Cost(cost["figures"], cost["functions"]) for name, cost in accepted.items()}


def write(file: Path, costs: Mapping[str, Cost], python: str = PYTHON) -> None:
    """From now on that is what they cost; other Pythons keep theirs."""
    accepted = {**_all(file), python: {name: asdict(cost) for name, cost in costs.items()}}
    file.write_text(json.dumps(accepted, indent=1, sort_keys=True) + "\n")


def _all(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def changes(was: Mapping[str, Cost], now: Mapping[str, Cost]) -> Iterator[Change]:
    """Figures that differ by more than a little."""
    for name in was.keys() & now.keys():
        for of, figures in was[name].figures.items():
            for kind, before in figures.items():
                after = now[name].figures[of][kind]
                if abs(after - before) > max(MORE * before, LEAST):
                    yield Change(name, of, kind, before, after)


def grown(was: Cost, now: Cost) -> list[str]:
    """The functions that take more instructions in a full envelope than they did, the worst first."""
    more = {name: count - was.functions.get(name, 0) for name, count in now.functions.items()}
    worst = sorted((name for name in more if more[name] > 0), key=lambda name: -more[name])[:NAMED]
    return [
        f"{more[name]:+9,}  {name}  ({was.functions.get(name, 0):,} -> {now.functions[name]:,})"
        for name in worst
    ]
