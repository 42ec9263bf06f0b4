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

from tools.benchmarks.growth.following import LIMIT
from tools.benchmarks.measures import (
    changes,
    commands,
    contest,
    depth,
    durable,
    finding,
    footprint,
    growth,
    latency,
    membership,
    parts,
    queues,
    rules,
    services,
    sites,
    snapshots,
    spark_scale,
    start,
    throughput,
    turns,
    unfinished,
    waiting,
)
from tools.benchmarks.mesh.__main__ import main as measure_mesh
from tools.benchmarks.pages import goal_table
from tools.benchmarks.pages.compare import compared, earlier
from tools.benchmarks.pages.peers_plot import draw as draw_peers
from tools.benchmarks.pages.report import Report, tell
from tools.benchmarks.peers.cases import cases_of
from tools.benchmarks.peers.who import picked
from tools.benchmarks.queues.cases import chosen_cases
from tools.benchmarks.queues.workers import chosen_workers
from tools.benchmarks.services.callers import chosen_callers
from tools.benchmarks.trials import balance, kills, queue_kills, stopped, weights
from tools.benchmarks.trials.scenarios import SCENARIOS
from tools.running.processes import ROOT, Failed, Interrupted

FOUND = ROOT / ".venv" / "bench"
FAILED, INTERRUPTED = 1, 130
MESSAGES_A_GET = 20
MESSAGES_A_REQUEST = 20
MESSAGES_A_REGISTRATION = 2
MESSAGES_A_JOB = 10
SECONDS_OF_SNAPSHOTS = 12  # for each second of a latency round
COUNT_A_ROUND = 25  # kills for each round of learning weights
PEERS_MESSAGES = 5  # factor for --messages, as fast peers are quick
MESSAGES_A_RELAYED = 10
QUEUES = "queues"  # the scenario of kills
IDLE_QUEUES = 1_000
CROWD = 55_000  # connections with garbage
MASTERS_RATE = 4  # one publisher replaces three, and more
Advance = Callable[[], None]
Options = argparse.Namespace


def measure_throughput(o: Options, advance: Advance) -> Report:
    return throughput.measured(o.rounds, o.messages, advance)


def measure_latency(o: Options, advance: Advance) -> Report:
    return latency.measured(o.rounds, o.seconds, advance)


def measure_footprint(o: Options, advance: Advance) -> Report:
    return footprint.measured(o.times, 2 * o.seconds, advance)


def measure_commands(o: Options, advance: Advance) -> Report:
    return commands.measured(min(o.times, 5), advance)


def measure_durable(o: Options, advance: Advance) -> Report:
    return durable.measured(o.rounds, o.messages // 2, advance)


def measure_finding(o: Options, advance: Advance) -> Report:
    return finding.measured(o.count, o.times, o.seed, advance)


def measure_membership(o: Options, advance: Advance) -> Report:
    return membership.measured(o.count, o.seed, advance)


def measure_balance(o: Options, advance: Advance) -> Report:
    return balance.measured(o.messages // MESSAGES_A_GET, advance)


def measure_snapshots(o: Options, advance: Advance) -> Report:
    return snapshots.measured(SECONDS_OF_SNAPSHOTS * o.seconds, advance)


def measure_spark(o: Options, advance: Advance) -> Report:
    return spark_scale.measured(o.lines, o.plot, advance)


def measure_weights(o: Options, advance: Advance) -> Report:
    return weights.measured(rounds_of_weights(o), o.messages // MESSAGES_A_GET, advance)


def measure_growth(o: Options, advance: Advance) -> Report:
    plot = o.plot if o.part == "growth" else None
    return growth.measured(o.most, plot, advance, o.curves, o.limit)


def rounds_of_weights(o: Options) -> int:
    return max(1, int(o.count) // COUNT_A_ROUND)


def measure_kills(o: Options, advance: Advance) -> Report:
    return kills.measured(SCENARIOS["nodes"], o.count, o.seed, o.rate, advance)


def measure_masters(o: Options, advance: Advance) -> Report:
    return kills.measured(SCENARIOS["masters"], o.count, o.seed, MASTERS_RATE * o.rate, advance)


def measure_queue_kills(o: Options, advance: Advance) -> Report:
    return queue_kills.measured(o.count, o.seed, o.rate, advance)


def measure_stopped(o: Options, advance: Advance) -> Report:
    return stopped.measured(min(o.rounds, 3), SECONDS_OF_SNAPSHOTS * o.seconds, advance)


def measure_waiting(o: Options, advance: Advance) -> Report:
    return waiting.measured(5 * o.messages, advance)


def measure_start(o: Options, advance: Advance) -> Report:
    return start.measured(o.messages, advance)


def measure_unfinished(o: Options, advance: Advance) -> Report:
    return unfinished.measured(o.mib, CROWD, advance)


def measure_peers(o: Options, advance: Advance) -> Report:
    messages = PEERS_MESSAGES * o.messages
    report = contest.measured(o.rounds, messages, o.seconds, o.peers, advance, o.cases)
    if o.plot and o.part == "peers":
        draw_peers(report.rows, o.plot)
    return report


def services_wanted(o: Options) -> services.Wanted:
    requests, registrations = o.messages // MESSAGES_A_REQUEST, o.messages // MESSAGES_A_REGISTRATION
    return services.Wanted(o.rounds, requests, o.seconds, registrations, o.callers)


def measure_services(o: Options, advance: Advance) -> Report:
    return services.measured(services_wanted(o), advance)


def queues_wanted(o: Options) -> queues.Wanted:
    return queues.Wanted(o.rounds, o.messages // MESSAGES_A_JOB, o.workers, o.flows)


def measure_depth(o: Options, advance: Advance) -> Report:
    return depth.measured(5 * o.messages, min(o.rounds, 5), advance)


def measure_rules(o: Options, advance: Advance) -> Report:
    return rules.measured(o.rounds, advance)


def measure_changes(o: Options, advance: Advance) -> Report:
    return changes.measured(o.count, o.seed, advance)


def measure_parts(o: Options, advance: Advance) -> Report:
    return parts.measured(min(o.rounds, 5), o.messages // MESSAGES_A_JOB, IDLE_QUEUES, advance)


def measure_queues(o: Options, advance: Advance) -> Report:
    return queues.measured(queues_wanted(o), advance)


def measure_sites(o: Options, advance: Advance) -> Report:
    return sites.measured(o.rounds, o.messages // MESSAGES_A_RELAYED, advance)


# part: (its measurement, its number of steps)
PARTS: dict[str, tuple[Callable[[Options, Advance], Report], Callable[[Options], int]]] = {
    "throughput": (measure_throughput, lambda o: throughput.STEPS * o.rounds),
    "latency": (measure_latency, lambda o: latency.STEPS * o.rounds),
    "footprint": (measure_footprint, lambda o: 3),
    "commands": (measure_commands, lambda o: commands.STEPS),
    "durable": (measure_durable, lambda o: 2 * o.rounds),
    "finding": (measure_finding, lambda o: finding.steps(o.count, o.times)),
    "membership": (measure_membership, lambda o: membership.steps(o.count)),
    "balance": (measure_balance, lambda o: balance.STEPS),
    "snapshots": (measure_snapshots, lambda o: snapshots.STEPS),
    "spark": (measure_spark, lambda o: spark_scale.STEPS * len(spark_scale.sizes(o.lines))),
    "weights": (measure_weights, lambda o: weights.STEPS * rounds_of_weights(o)),
    "stopped": (measure_stopped, lambda o: stopped.STEPS * min(o.rounds, 3)),
    "turns": (lambda o, advance: turns.measured(min(o.rounds, 3), advance), lambda o: turns.STEPS),
    "waiting": (measure_waiting, lambda o: waiting.STEPS),
    "start": (measure_start, lambda o: start.STEPS),
    "rules": (measure_rules, lambda o: o.rounds),
    "changes": (measure_changes, lambda o: o.count),
    "unfinished": (measure_unfinished, lambda o: unfinished.STEPS),
    "peers": (measure_peers, lambda o: o.rounds * contest.steps(o.peers, o.cases)),
    "services": (measure_services, lambda o: services_wanted(o).steps),
    "queues": (measure_queues, lambda o: queues_wanted(o).steps),
    "parts": (measure_parts, lambda o: parts.steps(min(o.rounds, 5))),
    "sites": (measure_sites, lambda o: sites.steps(o.rounds)),
    "depth": (measure_depth, lambda o: depth.steps(min(o.rounds, 5))),
    "growth": (measure_growth, lambda o: growth.steps(o.most, o.curves)),
    "kills": (measure_kills, lambda o: o.count),
    "kills-masters": (measure_masters, lambda o: o.count),
    queue_kills.PART: (measure_queue_kills, lambda o: len(queue_kills.KINDS) * o.count),
}


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
