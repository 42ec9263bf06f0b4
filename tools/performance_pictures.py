"""The pictures of docs/performance.md, one message each, drawn from JSON in the form of `tools/bench`.

    python -m tools.performance_pictures [--check]

It reads peers.json and growth.json in docs/performance, in the form in which `tools/bench peers --json DIR`
and `growth` write them, and writes the SVG files beside them. The page says where the figures come from. With
--check it writes nothing, and fails where one is another.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.benchmarks.growth.slopes import slope
from tools.benchmarks.pages.report import Row, number
from tools.benchmarks.pages.svg import Bar, Line, bars, lines
from tools.benchmarks.peers.cases import CASES, row_of
from tools.benchmarks.peers.who import PEERS
from tools.running.processes import ROOT

FOLDER = ROOT / "docs" / "performance"
TITLES = {  # of a file: the case, what it is about, and beside whom the first is held
    "one-to-one": ("1-1", "One to one", "nats-c"),
    "one-to-four": ("1-4", "One to four", "nats-c"),
    "large": ("64k", "64 KiB each", "zenoh-py"),
    "lone": ("500/s", "A message that travels alone", "nats-c"),
}
CURVES = {  # of a file: its message, and the figures of experiments that it shows, with their names
    "one-of-many": (
        "What one costs hardly depends on how many there are",
        {
            ("exact subscriptions", "route"): "a message to a subscription",
            ("topics", "get"): "a last value by its key",
        },
    ),
    "all-of-many": (
        "What all of them cost together grows as their number does",
        {
            ("exact subscriptions", "make"): "subscribing all",
            ("topics", "put"): "publishing all topics",
            ("stored messages", "append"): "storing all messages",
            ("stored messages", "restart"): "a start with all of them",
        },
    ),
}


def main(words: list[str]) -> int:
    """0; 1 if a picture is not what the figures say."""
    stale = []
    for name, picture in pictures(FOLDER):
        path = FOLDER / f"{name}.svg"
        if "--check" in words:
            if not path.exists() or path.read_text() != picture:
                stale.append(path.name)
        else:
            path.write_text(picture)
    if stale:
        print(f"{', '.join(stale)}: not as the figures are; python -m tools.performance_pictures draws them")
    return 1 if stale else 0


def pictures(folder: Path) -> Iterator[tuple[str, str]]:
    """Each file's name and content."""
    rows = [Row(**row) for row in _read(folder / "peers.json")["rows"]]
    for name, (case, about, beside) in TITLES.items():
        yield name, beside_peers(rows, case, about, beside)
    curves = _read(folder / "growth.json")["details"]
    for name, (message, chosen) in CURVES.items():
        shown = [curve(curves[experiment], key, what) for (experiment, key), what in chosen.items()]
        below = "CPU against how many there are, by powers of ten; behind each name its slope: 1 is linear"
        yield name, lines(message, below, shown, "s")


def beside_peers(rows: list[Row], case: str, about: str, beside: str) -> str:
    """A case, from the best to the worst; its message says how ours is beside one of them."""
    found = {row.name: row for row in rows if not row.flaw and not row.missing}
    less = bool(CASES[case].rate)
    names = [who for who in CASES[case].who if row_of(case, who) in found]
    names.sort(key=lambda who: found[row_of(case, who)].measured * (1 if less else -1))
    ours, theirs = (found[row_of(case, who)].measured for who in ("heronry", beside))
    what = f"{ours / theirs:.1f} times {'the time' if less else 'as many'}"
    message = f"{about}: {what} {'of' if less else 'as'} {beside}"
    below = f"{CASES[case].what}, {CASES[case].unit}: {'less' if less else 'more'} is better"
    shown = [_bar(who, found[row_of(case, who)]) for who in names]
    return bars(message, below, shown)


def curve(rows: list[dict[str, float]], key: str, what: str) -> Line:
    """A figure at each size at which it is known; its name with its slope."""
    points = [(row["size"], row[key]) for row in rows if row.get(key, 0) > 0]
    exponent = slope(points)
    return Line(what if exponent is None else f"{what}: {max(exponent, 0.0):.2f}", points)


def _bar(who: str, row: Row) -> Bar:
    return Bar(who, row.measured, f"{number(row.measured)} {row.goal.unit}", PEERS[who].is_ours)


def _read(path: Path) -> Any:
    return json.loads(path.read_text())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
