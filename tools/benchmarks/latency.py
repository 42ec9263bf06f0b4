"""How long is a lone message under way, from a client of one node to a client of another?"""

from collections.abc import Callable

from tools.benchmarks.figures import Count, percentile
from tools.benchmarks.nodes import READY, Node, start_nodes
from tools.benchmarks.report import Report, Row
from tools.benchmarks.runs import said, wait_for
from tools.demo_parts.processes import Processes

RATE = 500  # messages a second
TOPIC = "latency"


def measured(rounds: int, seconds: int, advance: Callable[[], None]) -> Report:
    """So many rounds of so many seconds."""
    wanted = RATE * seconds
    taken: list[list[float]] = []
    late: list[float] = []
    with Processes() as processes:
        at, to = start_nodes(processes, "heron", "stork")
        for turn in range(rounds):
            times, lateness = _run(processes, at, to, f"{TOPIC}/{turn}", wanted)
            taken.append(times)
            late += lateness
            advance()
    return Report("latency", _rows(taken, late, wanted), {"seconds": taken, "late": late})


def _run(
    processes: Processes, at: Node, to: Node, topic: str, wanted: int
) -> tuple[list[float], list[float]]:
    """How long each was under way, and how late each was sent (s)."""
    ready = f"{topic.replace('/', '-')}.ready"
    found = processes.place / ready
    receiver = processes.start(
        "receiver", "tools.benchmarks.latency_receiver", to.name, topic, str(wanted), ready
    )
    processes.until(lambda: found.exists() or receiver.ended(), READY, "the receiver did not get ready")
    sender = processes.start(
        "sender", "tools.benchmarks.latency_sender", at.name, topic, str(RATE), str(wanted)
    )
    wait_for(processes, sender, receiver)
    return said(receiver), said(sender)


def _rows(taken: list[list[float]], late: list[float], wanted: int) -> list[Row]:
    every = [1000 * t for times in taken for t in times]
    lost = sum(wanted - len(times) for times in taken)
    flaw = str(Count(lost)) if lost else ""
    if not every:
        return [Row("p50", 0.0, flaw=flaw)]
    return [
        Row("p50", percentile(every, 0.5), f"{len(every):,} messages", flaw),
        Row("p99", percentile(every, 0.99), "", flaw),
        Row("max", max(every), "", flaw),
        Row("late", 1000 * percentile(late, 0.5), "part of the figures above"),
    ]
