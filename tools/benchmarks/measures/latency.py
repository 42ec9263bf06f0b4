"""The latency of a single message, from a client of one node to a client of another."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tools.benchmarks.loads.figures import Count, percentile
from tools.benchmarks.loads.runs import said, wait_for
from tools.benchmarks.measures.throughput import started
from tools.benchmarks.pages.report import Report, Row
from tools.running.line import DOMAIN
from tools.running.nodes import READY, Node
from tools.running.processes import Processes

RATE = 500  # messages per second
TOPIC = "latency"
STEPS = 3  # routes per round


@dataclass(frozen=True, slots=True)
class Way:
    """A route from a client of one node to a client of another, and its results of all rounds (s)."""

    name: str
    at: Node
    to: Node
    domain: str = ""
    taken: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)  # delay of each send


def measured(rounds: int, seconds: int, advance: Callable[[], None]) -> Report:
    with Processes() as processes:
        n = started(processes)
        ways = [
            Way("", n.at, n.to),
            Way(", one hop", n.frodo, n.heron, DOMAIN),
            Way(", two hops", n.bilbo, n.heron, DOMAIN),
        ]
        for turn in range(rounds):
            for way in ways:
                _run(processes, way, f"{TOPIC}/{turn}", RATE * seconds)
                advance()
    wanted = RATE * seconds * rounds
    rows = [*_rows(ways[0], wanted), *(_median(way, wanted) for way in ways[1:])]
    return Report(
        "latency", rows, {way.name or "plain": {"taken": way.taken, "late": way.late} for way in ways}
    )


def _run(processes: Processes, way: Way, topic: str, wanted: int) -> None:
    ready = f"{way.at.name}-{topic.replace('/', '-')}.ready"
    found = processes.place / ready
    receives = ("tools.benchmarks.loads.latency_receiver", way.to.name, topic, way.domain, str(wanted), ready)
    receiver = processes.start("receiver", *receives)
    processes.until(lambda: found.exists() or receiver.ended(), READY, "the receiver did not get ready")
    sends = ("tools.benchmarks.loads.latency_sender", way.at.name, topic, way.domain, str(RATE), str(wanted))
    sender = processes.start("sender", *sends)
    wait_for(processes, sender, receiver)
    way.taken.extend(said(receiver))
    way.late.extend(said(sender))


def _median(way: Way, wanted: int) -> Row:
    lost = wanted - len(way.taken)
    taken = 1000 * percentile(way.taken, 0.5) if way.taken else 0.0
    return Row(f"p50{way.name}", taken, f"{len(way.taken):,} messages", str(Count(lost)) if lost else "")


def _rows(way: Way, wanted: int) -> list[Row]:
    half = _median(way, wanted)
    if not way.taken:
        return [half]
    return [
        half,
        Row("p99", 1000 * percentile(way.taken, 0.99), "", half.flaw),
        Row("max", 1000 * max(way.taken), "", half.flaw),
        Row("late", 1000 * percentile(way.late, 0.5), "part of the figures above"),
    ]
