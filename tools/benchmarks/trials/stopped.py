"""The effect of a stopped subscriber on its node, and on other clients."""

import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass

import psutil

from tools.benchmarks.loads.figures import median, percentile
from tools.benchmarks.loads.runs import said, wait_for
from tools.benchmarks.measures.latency import RATE
from tools.benchmarks.pages.report import Report, Row
from tools.running.nodes import READY, Node, start_nodes
from tools.running.processes import Processes, Program

FLOOD = 5_000  # messages of 1 KiB/s, for two readers
STEPS = 2  # per round
MB = 1e6


@dataclass(frozen=True, slots=True)
class Round:
    """The figures of a round.

    `grown` is by how many MB the readers' node grew at most. `p99` is that of single messages, in s.
    """

    is_stopped: bool
    p99: float
    grown: float
    lost: int


def measured(rounds: int, seconds: int, advance: Callable[[], None]) -> Report:
    """Run rounds of `seconds` seconds, alternating with all readers running and with one stopped."""
    found: list[Round] = []
    with Processes() as processes:
        at, to = start_nodes(processes, "heron", "stork")
        for turn in range(rounds):
            for is_stopped in (False, True):
                found.append(_round(processes, at, to, f"{turn}-{is_stopped}", is_stopped, seconds))
                advance()
    return told(found)


def _round(processes: Processes, at: Node, to: Node, name: str, is_stopped: bool, seconds: int) -> Round:
    topic = f"flood/{name}"
    readers = [_reader(processes, to, topic, f"reader-{name}-{n}") for n in range(2)]
    ready, wanted = f"latency-{name}.ready", RATE * seconds
    receiver = processes.start(
        "receiver", "tools.benchmarks.loads.latency_receiver", to.name, f"lone/{name}", "", str(wanted), ready
    )
    found = processes.place / ready
    processes.until(lambda: found.exists() or receiver.ended(), READY, "the receiver did not get ready")
    node = psutil.Process(to.program.pid)
    before = most = node.memory_info().rss
    flood = ("send", topic, str(FLOOD), str(seconds))
    publisher = processes.start("flood", "tools.benchmarks.loads.flood", at.name, *flood)
    sender = processes.start(
        "sender", "tools.benchmarks.loads.latency_sender", at.name, f"lone/{name}", "", str(RATE), str(wanted)
    )
    if is_stopped:
        readers[1].signal(signal.SIGSTOP)

    def look() -> None:
        nonlocal most
        most = max(most, node.memory_info().rss)

    processes.until(publisher.ended, 3.0 * seconds + READY, "the flood did not end", look)
    wait_for(processes, sender, receiver)
    readers[1].signal(signal.SIGCONT)
    processes.end(readers)
    taken = said(receiver)
    p99 = percentile(taken, 0.99) if taken else float("inf")
    return Round(is_stopped, p99, (most - before) / MB, wanted - len(taken))


def _reader(processes: Processes, node: Node, topic: str, name: str) -> Program:
    ready = processes.place / f"{name}.ready"
    reader = processes.start(name, "tools.benchmarks.loads.flood", node.name, "read", topic, ready.name)
    processes.until(lambda: ready.exists() or reader.ended(), READY, "a reader did not get ready")
    return reader


def told(found: list[Round]) -> Report:
    going, stopped = ([r for r in found if r.is_stopped is which] for which in (False, True))
    p99, p99_stopped = (1000 * median([r.p99 for r in rounds]) for rounds in (going, stopped))
    lost = sum(r.lost for r in found)
    flaw = f"{lost} lone messages did not come" if lost else ""
    note = f"{p99_stopped:.1f} ms, and {p99:.1f} ms while all read"
    grown = max(r.grown for r in stopped)
    all_read = f"{max(r.grown for r in going):.1f} MB while all read"
    rows = [Row("stopped, p99", p99_stopped / p99, note, flaw), Row("stopped, memory", grown, all_read)]
    return Report("stopped", rows, {"rounds": [asdict(r) for r in found]})
