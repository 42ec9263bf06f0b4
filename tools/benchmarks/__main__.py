"""How fast is Heronry here, and does it keep its promises while nodes die?

Exit code: 0 measured; 1 something was lost, doubled or out of order; 2 it could not be measured, or a wrong
argument; 130 ended by Ctrl-C. A missed goal is shown, and changes no exit code: machines differ.
"""

import argparse
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tools.benchmarks import durable, footprint, kills, latency, throughput
from tools.benchmarks.report import Report, tell
from tools.demo_parts.processes import ROOT, Failed, Interrupted

FOUND = ROOT / ".venv" / "bench"
FAILED, CANNOT, INTERRUPTED = 1, 2, 130
Advance = Callable[[], None]
Options = argparse.Namespace


def measure_throughput(o: Options, advance: Advance) -> Report:
    return throughput.measured(o.rounds, o.messages, advance)


def measure_latency(o: Options, advance: Advance) -> Report:
    return latency.measured(o.rounds, o.seconds, advance)


def measure_footprint(o: Options, advance: Advance) -> Report:
    return footprint.measured(o.times, 2 * o.seconds, advance)


def measure_durable(o: Options, advance: Advance) -> Report:
    return durable.measured(o.rounds, o.messages // 2, advance)


def measure_kills(o: Options, advance: Advance) -> Report:
    return kills.measured(o.count, o.seed, o.rate, advance)


# part: (what measures it, how many steps that takes)
PARTS: dict[str, tuple[Callable[[Options, Advance], Report], Callable[[Options], int]]] = {
    "throughput": (measure_throughput, lambda o: 5 * o.rounds),
    "latency": (measure_latency, lambda o: o.rounds),
    "footprint": (measure_footprint, lambda o: 3),
    "durable": (measure_durable, lambda o: 2 * o.rounds),
    "kills": (measure_kills, lambda o: o.count),
}


def arguments() -> Options:
    parser = argparse.ArgumentParser(prog="tools/bench", description="How fast is Heronry on this machine?")
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of each load; medians are shown")
    parser.add_argument("--messages", type=int, default=200_000, metavar="N", help="of 100 B in a run")
    parser.add_argument("--seconds", type=float, default=5.0, metavar="S", help="of a latency round")
    parser.add_argument("--times", type=int, default=7, metavar="N", help="that something is started")
    parser.add_argument("--count", type=int, default=50, metavar="N", help="of kills")
    parser.add_argument("--seed", type=int, metavar="S", help="of the kills; any one if not given")
    parser.add_argument(
        "--rate", type=int, default=500, metavar="N", help="messages a second, each publisher"
    )
    parser.add_argument(
        "--json",
        type=Path,
        default=ROOT / ".venv" / "bench",
        metavar="DIR",
        help="where PART.json is written",
    )
    options = parser.parse_args()
    if (
        min(
            options.rounds,
            options.messages // 100,
            options.seconds,
            options.times,
            options.count,
            options.rate,
        )
        <= 0
    ):
        parser.error("every number must be above 0, and --messages at least 100")
    return options


def measured(part: str, options: Options) -> Report:
    """One part, with a bar that shows how far it is."""
    measure, steps = PARTS[part]
    text = f"kills, seed {options.seed}" if part == "kills" else part
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(text, total=steps(options))
        return measure(options, lambda: progress.advance(task))


def main() -> int:
    options = arguments()
    if options.seed is None:
        options.seed = secrets.randbelow(1_000_000)
    is_clean = True
    try:
        for part in PARTS if options.part == "all" else [options.part]:
            report = measured(part, options)
            tell(report, options.json)
            is_clean &= report.is_clean
    except Failed as error:
        print(f"tools/bench: {error}", file=sys.stderr)
        return CANNOT
    except Interrupted:
        return INTERRUPTED
    return 0 if is_clean else FAILED


if __name__ == "__main__":
    sys.exit(main())
