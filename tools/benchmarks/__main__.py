"""Measures the speed of Heronry on this machine, and its promises while nodes die.

Exit code: 0 measured; 1 a message was lost, doubled or out of order, or a program failed; 2 a wrong argument;
130 ended by Ctrl-C. A missed goal is shown but changes no exit code, as machines differ.
"""

import argparse
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tools.benchmarks.catalog import PARTS, Options
from tools.benchmarks.growth.following import LIMIT
from tools.benchmarks.measures import growth
from tools.benchmarks.mesh.__main__ import main as measure_mesh
from tools.benchmarks.operations.contestants import chosen_rivals
from tools.benchmarks.pages import goal_table
from tools.benchmarks.pages.compare import compared, earlier
from tools.benchmarks.pages.report import Report, tell
from tools.benchmarks.peers.cases import cases_of
from tools.benchmarks.peers.who import picked
from tools.benchmarks.queues.cases import chosen_cases
from tools.benchmarks.queues.workers import chosen_workers
from tools.benchmarks.services.callers import chosen_callers
from tools.benchmarks.trials import queue_kills
from tools.benchmarks.trials.scenarios import SCENARIOS
from tools.running.processes import ROOT, Failed, Interrupted

FOUND = ROOT / ".venv" / "bench"
FAILED, INTERRUPTED = 1, 130
QUEUES = "queues"  # the scenario of kills


def chosen(o: Options) -> list[str]:
    """Return the names of the parts to measure; of the kills, only the scenarios that are selected."""
    others = [part for part in PARTS if not part.startswith("kills")]
    by_name = {name: scenario.part for name, scenario in SCENARIOS.items()} | {QUEUES: queue_kills.PART}
    scenarios = [part for name, part in by_name.items() if o.scenario in (name, "all")]
    return {"all": [*others, *scenarios], "kills": scenarios}.get(o.part, [o.part])


def at_least(least: int) -> Callable[[str], int]:
    def checked(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
        return int(text)

    return checked


# option: (default, minimum, help)
NUMBERS = {
    "--rounds": (5, 1, "rounds of each measurement, whose medians are shown"),
    "--messages": (200_000, 100, "messages in a run; a 20th of N requests for balance and weights"),
    "--seconds": (5, 1, "length of a round that measures latency, in seconds"),
    "--times": (7, 1, "starts to measure in footprint, commands and finding"),
    "--count": (
        50,
        1,
        "killed processes; in finding and membership, for each kind; in changes, changes of rules; "
        "in weights, one round for each 25",
    ),
    "--lines": (5_000_000, 1_000, "largest number of lines for spark, which begins with a million"),
    "--rate": (500, 1, "messages a second of each publisher while processes are killed"),
    "--seed": (None, 0, "seed of the kills; default: random"),
    "--most": (None, 1, "largest size of growth; default: a size for each curve"),
    "--mib": (1_500, 1, "size of the message that never ends in unfinished, in MiB"),
    "--limit": (int(LIMIT), 1, "time limit of one size of growth, in seconds"),
}


def arguments() -> Options:
    parser = argparse.ArgumentParser(
        prog="tools/bench",
        description="Measure the speed of Heronry on this machine.",
        epilog="tools/bench mesh --help describes the benchmark of a mesh that is running.",
    )
    parts = [*(part for part in PARTS if not part.startswith("kills-")), "all", "goals"]
    parser.add_argument("part", choices=parts)
    for name, (usual, least, help) in NUMBERS.items():
        parser.add_argument(name, type=at_least(least), default=usual, metavar="N", help=help)
    parser.add_argument(
        "--scenario",
        choices=[*SCENARIOS, QUEUES, "all"],
        default="nodes",
        help="processes to kill; nodes: masters; masters: a master and the route to it; queues: producers, "
        "keepers and consumers of a queue",
    )
    help = "write a page with charts of spark, growth or peers to FILE"
    parser.add_argument("--plot", type=Path, metavar="FILE", help=help)
    for name, kind, example in (("--peers", picked, "nats,zmq-c"), ("--cases", cases_of, "1-1,curve")):
        help = f"measure only these in peers, such as {example}"
        parser.add_argument(name, type=kind, default="", metavar="NAME,...", help=help)
    help = "in services, compare only with these, such as nats-py,grpc-py"
    parser.add_argument("--callers", type=chosen_callers, default="", metavar="NAME,...", help=help)
    help = "in queues, compare only with these, such as jetstream-c,redis-py"
    parser.add_argument("--workers", type=chosen_workers, default="", metavar="NAME,...", help=help)
    help = "measure only cases of queues whose names have all these words, such as '1→1,100 B'"
    parser.add_argument("--flows", type=chosen_cases, default="", metavar="WORD,...", help=help)
    help = "in transactions and maps, compare only with these, such as postgresql,etcd"
    parser.add_argument("--rivals", type=chosen_rivals, default="", metavar="NAME,...", help=help)
    help = "measure only curves of growth with one of these words in their names, such as stored,topics"
    parser.add_argument("--curves", type=growth.with_words, default="", metavar="WORD,...", help=help)
    help = "compare with FILE: PART.json of an earlier run, or the folder of such files"
    parser.add_argument("--compare", type=earlier, metavar="FILE", help=help)
    help = "write PART.json to DIR, where goals reads the results"
    parser.add_argument("--json", type=Path, default=FOUND, metavar="DIR", help=help)
    return parser.parse_args()


def measured(part: str, options: Options) -> Report:
    measure, steps = PARTS[part]
    text = f"{part}, seed {options.seed}" if part.startswith("kills") else part
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(text, total=steps(options))
        return measure(options, lambda: progress.advance(task))


def main() -> int:
    if sys.argv[1:2] == ["mesh"]:
        return measure_mesh(sys.argv[2:])
    options = arguments()
    if options.seed is None:
        options.seed = secrets.randbelow(1_000_000)
    is_clean = True
    try:
        if options.part == "goals":
            print(goal_table.table(options.json))
            return 0
        for part in chosen(options):
            report = measured(part, options)
            tell(report, options.json, *([compared(report, options.compare)] if options.compare else []))
            is_clean &= report.is_clean
        if options.part == "all":
            print(goal_table.table(options.json))
    except Failed as error:
        print(f"tools/bench: {error}", file=sys.stderr)
        return FAILED
    except Interrupted:
        return INTERRUPTED
    return 0 if is_clean else FAILED


if __name__ == "__main__":
    sys.exit(main())
