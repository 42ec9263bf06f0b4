"""The measurements of `tools/bench` by name, with their sizes and numbers of steps."""

import argparse
from collections.abc import Callable

from tools.benchmarks.measures import (
    changes,
    commands,
    contest,
    depth,
    durable,
    finding,
    footprint,
    growth,
    herd,
    latency,
    membership,
    operations,
    parts,
    queues,
    rolling,
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
from tools.benchmarks.pages.peers_plot import draw as draw_peers
from tools.benchmarks.pages.report import Report
from tools.benchmarks.trials import balance, kills, queue_kills, stopped, weights
from tools.benchmarks.trials.scenarios import SCENARIOS

MESSAGES_A_GET = 20
MESSAGES_A_REQUEST = 20
MESSAGES_A_REGISTRATION = 2
MESSAGES_A_JOB = 10
SECONDS_OF_SNAPSHOTS = 12  # for each second of a latency round
COUNT_A_ROUND = 25  # kills for each round of learning weights
PEERS_MESSAGES = 5  # factor for --messages, as fast peers are quick
MESSAGES_A_RELAYED = 10
IDLE_QUEUES = 1_000
MESSAGES_AN_OPERATION = 200
MESSAGES_A_ROW = 10  # of an outbox
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


def operations_wanted(part: str, o: Options) -> operations.Wanted:
    count, rows = o.messages // MESSAGES_AN_OPERATION, o.messages // MESSAGES_A_ROW
    return operations.Wanted(part, o.rounds, count, o.seconds, rows, o.rivals)


def measure_transactions(o: Options, advance: Advance) -> Report:
    return operations.measured(operations_wanted("transactions", o), advance)


def measure_maps(o: Options, advance: Advance) -> Report:
    return operations.measured(operations_wanted("maps", o), advance)


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
    "herd": (lambda o, advance: herd.measured(advance), lambda o: herd.STEPS),
    "waiting": (measure_waiting, lambda o: waiting.STEPS),
    "start": (measure_start, lambda o: start.STEPS),
    "rolling": (
        lambda o, advance: rolling.measured(min(o.rounds, 3), advance),
        lambda o: rolling.steps(min(o.rounds, 3)),
    ),
    "rules": (measure_rules, lambda o: o.rounds),
    "changes": (measure_changes, lambda o: o.count),
    "unfinished": (measure_unfinished, lambda o: unfinished.STEPS),
    "peers": (measure_peers, lambda o: o.rounds * contest.steps(o.peers, o.cases)),
    "services": (measure_services, lambda o: services_wanted(o).steps),
    "queues": (measure_queues, lambda o: queues_wanted(o).steps),
    "parts": (measure_parts, lambda o: parts.steps(min(o.rounds, 5))),
    "transactions": (measure_transactions, lambda o: operations_wanted("transactions", o).steps),
    "maps": (measure_maps, lambda o: operations_wanted("maps", o).steps),
    "sites": (measure_sites, lambda o: sites.steps(o.rounds)),
    "depth": (measure_depth, lambda o: depth.steps(min(o.rounds, 5))),
    "growth": (measure_growth, lambda o: growth.steps(o.most, o.curves)),
    "kills": (measure_kills, lambda o: o.count),
    "kills-masters": (measure_masters, lambda o: o.count),
    queue_kills.PART: (measure_queue_kills, lambda o: len(queue_kills.KINDS) * o.count),
}
