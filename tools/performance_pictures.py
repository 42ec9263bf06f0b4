"""Draws the charts of docs/performance.md and its first table, from the results of `tools/bench`.

python -m tools.performance_pictures [--check]

Reads peers.json and growth.json in docs/performance, written by `tools/bench peers --json DIR` and `growth`.
Writes the SVG files beside them and the table between the page's marks. With --check it writes nothing,
and fails if a file is out of date.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from tools.benchmarks.growth.slopes import slope
from tools.benchmarks.pages.report import Row, number, read
from tools.benchmarks.pages.svg import Bar, Line, bars, lines
from tools.benchmarks.peers.cases import CASES, row_of
from tools.benchmarks.peers.who import PEERS
from tools.running.processes import ROOT

FOLDER = ROOT / "docs" / "performance"
TITLES = {  # file -> case, subject, and the compared peer
    "one-to-one": ("1-1", "One to one", "nats-c"),
    "one-to-four": ("1-4", "One to four", "nats-c"),
    "large": ("64k", "64 KiB each", "zenoh-py"),
    "lone": ("500/s", "A message that travels alone", "nats-py"),
}
COLUMNS = {"1-1": "1→1", "1k": "1→1, 1 KiB", "64k": "1→1, 64 KiB", "1-4": "1→4", "4-4": "4→4"}
CLIENTS = {  # client -> its name in the table
    "heronry": "**Heronry**, `post`",
    "heronry, many": "**Heronry**, `publish_many`",
    "heronry, two hops": "**Heronry**, `post`, three nodes in a row",
    "nats-c": "NATS, C",
    "zmq-c": "libzmq proxy, C",
    "redis-c": "Redis, C, pipeline of 100",
    "zenoh-py": "Zenoh, Python",
    "zmq-py": "libzmq proxy, pyzmq",
    "nats-py": "NATS, Python",
    "redis-py": "Redis, Python, pipeline of 100",
    "mosquitto-c": "mosquitto, C, QoS 0",
    "mosquitto-py": "mosquitto, Paho, QoS 0",
}
MARKS = ("<!-- made by tools.performance_pictures -->\n", "<!-- to here -->\n")
CURVES = {  # file -> message, and figures with labels
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
    """Write or check all files, and return 1 if one is out of date."""
    stale = []
    for path, content in files(FOLDER):
        if "--check" in words:
            if not path.exists() or path.read_text() != content:
                stale.append(path.name)
        else:
            path.write_text(content)
    if stale:
        print(f"{', '.join(stale)}: not as the figures are; python -m tools.performance_pictures draws them")
    return 1 if stale else 0


def files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield all generated files with their content: the charts, and the page that shows them."""
    for name, picture in pictures(folder):
        yield folder / f"{name}.svg", picture
    page = folder.with_suffix(".md")
    before, rest = page.read_text().split(MARKS[0])
    behind = rest.split(MARKS[1])[1]
    yield page, before + MARKS[0] + table(read(folder / "peers.json").rows) + MARKS[1] + behind


def table(rows: list[Row]) -> str:
    """Return the rates of each client as Markdown; a cell without a row is empty."""
    found = {row.name: row for row in rows if not row.missing}
    lines_of = [f"| client and method | {' | '.join(COLUMNS.values())} |", f"| --- |{' ---: |' * 5}"]
    for who, name in CLIENTS.items():
        cells = [_cell(found.get(row_of(case, who))) for case in COLUMNS]
        lines_of.append(f"| {name} | {' | '.join(cells)} |".replace("  ", " "))
    return "\n".join(lines_of) + "\n"


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    return "lost some" if row.flaw else f"{float(f'{row.measured:.3g}'):,.0f}"


def pictures(folder: Path) -> Iterator[tuple[str, str]]:
    rows = read(folder / "peers.json").rows
    for name, (case, about, beside) in TITLES.items():
        yield name, beside_peers(rows, case, about, beside)
    curves = read(folder / "growth.json").details
    for name, (message, chosen) in CURVES.items():
        shown = [curve(curves[experiment], key, what) for (experiment, key), what in chosen.items()]
        below = "CPU against how many there are, by powers of ten; behind each name its slope: 1 is linear"
        yield name, lines(message, below, shown, "s")


def beside_peers(rows: list[Row], case: str, about: str, beside: str) -> str:
    """Return a chart of a case, best first, with a message that compares ours with one peer."""
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
    """Return the line of a figure, with its slope, at least 0, in the label."""
    points = [(row["size"], row[key]) for row in rows if row.get(key, 0) > 0]
    exponent = slope(points)
    return Line(what if exponent is None else f"{what}: {max(exponent, 0.0):.2f}", points)


def _bar(who: str, row: Row) -> Bar:
    return Bar(who, row.measured, f"{number(row.measured)} {row.goal.unit}", PEERS[who].is_ours)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
