"""Generates the history of a mesh, in segments as nodes write them.

python -m tools.generate_snapshots --nodes N --hours H --to DIR [OPTION...]

Prints the figures of the history as JSON; its `rows` have the lines and states without duplicates. Exit code:
0 written; 2 a wrong argument. With --seed and --end the same options give the same bytes.
"""

import argparse
import json
import math
import random
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

from tools.generating.cast import HOUR, SECOND, draw
from tools.generating.fates import TICK
from tools.generating.history import History, Wish, lines_a_tick

MOST_NODES, MOST_HOURS = 1_000, 10_000
CLOSINGS = (10, 20, 30, 60)  # s
SPARE = 1.1  # factor for ticks, as nodes have downtimes


def main() -> int:
    options = arguments()
    history = History(options)
    history.run()
    json.dump(history.summary(), sys.stdout, indent=1)
    print()
    return 0


def arguments() -> Wish:
    """Parse the command line, make the target directory, and exit with 2 on an error."""
    parser = argparse.ArgumentParser(
        prog="tools/generate_snapshots", description="Generate the history of a mesh."
    )
    parser.add_argument(
        "--nodes", type=int, required=True, metavar="N", help=f"number of nodes, 1 to {MOST_NODES:,}"
    )
    parser.add_argument("--hours", type=float, metavar="H", help="duration in hours; default: 1")
    parser.add_argument(
        "--to", type=Path, required=True, metavar="DIR", help="write to DIR, a new or empty directory"
    )
    parser.add_argument(
        "--late", type=Path, metavar="DIR", help="write late segments to DIR; default: that of --to"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="seed, which repeats a history; default: random"
    )
    parser.add_argument("--lines", type=int, metavar="N", help="end after N lines; replaces --hours")
    parser.add_argument(
        "--end", metavar="TIME", help="end of the history, ISO 8601 in UTC; default: the last full hour"
    )
    parser.add_argument(
        "--close",
        type=int,
        choices=CLOSINGS,
        default=CLOSINGS[0],
        help="seconds until a segment is closed; default: 10",
    )
    parser.add_argument("--clean", action="store_true", help="write no broken lines")
    o = parser.parse_args()
    if not 1 <= o.nodes <= MOST_NODES:
        parser.error(f"--nodes {o.nodes} is not from 1 to {MOST_NODES:,}")
    if o.hours is not None and not 0 < o.hours <= MOST_HOURS:
        parser.error(f"--hours {o.hours:g} is not above 0 and at most {MOST_HOURS:,}")
    if o.lines is not None and (o.lines < 1 or o.hours is not None):
        parser.error("--lines must be 1 or more, and goes without --hours")
    for place in {o.to, o.late or o.to}:
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            parser.error(f"{place} is not an empty directory; name another, or remove it first")
    try:
        end = last_hour() if o.end is None else since_1970(o.end)
    except ValueError:
        parser.error(f"--end {o.end!r} is no time; one is 2026-11-21T10:00:00")
    seed = secrets.randbelow(1_000_000) if o.seed is None else o.seed
    ticks = ticks_for(o.lines, o.nodes, seed) if o.lines else math.ceil((o.hours or 1) * HOUR / TICK)
    o.to.mkdir(parents=True, exist_ok=True)
    return Wish(
        o.nodes,
        ticks,
        since=end - ticks * TICK,
        seed=seed,
        place=o.to,
        late=o.late or o.to,
        close=o.close * SECOND // TICK,
        lines=o.lines,
        clean=o.clean,
    )


def ticks_for(lines: int, nodes: int, seed: int) -> int:
    """Return enough ticks for `lines` lines."""
    return math.ceil(SPARE * lines / lines_a_tick(draw(nodes, random.Random(seed)))) + 1


def last_hour() -> int:
    """Return the last full hour in µs since 1970."""
    return since_1970(datetime.now(UTC).replace(minute=0, second=0, microsecond=0).isoformat())


def since_1970(text: str) -> int:
    """Return a time in ISO 8601 as µs since 1970, in whole seconds; UTC by default. Raises: ValueError."""
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()) * SECOND


if __name__ == "__main__":
    sys.exit(main())
