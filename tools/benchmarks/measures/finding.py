"""The delay until real nodes on one machine see each other, and see that one has ended."""

import random
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tools.benchmarks.loads.figures import median, percentile
from tools.benchmarks.pages.report import Report, Row
from tools.running.company import Company, logs_kept
from tools.running.line import free_ports
from tools.running.nodes import ANYWHERE, Node
from tools.running.processes import Processes
from tools.running.watch import Watch, falsely

FEW = ("heron", "stork", "egret")
MANY = (*FEW, "ibis", "crane", "bittern", "spoonbill", "hamerkop", "shoebill", "jabiru")
BETWEEN = 1.5  # most s before the next end
RARER = 5  # divisor for the ends among many nodes

Start = Callable[[Processes], list[Node]]


@dataclass(frozen=True, slots=True)
class Way:
    """A way in which a node ends.

    `name` is that of its rows in the report, `number` its signal, and `word` its name in the events of other
    nodes.
    """

    name: str
    number: signal.Signals
    word: str
    nodes: tuple[str, ...]

    def times(self, count: int) -> int:
        return count if self.nodes is FEW else max(1, count // RARER)


KILLED, SILENT = signal.SIGKILL, signal.SIGSTOP
WAYS = (
    Way("killed of 3", KILLED, "dead", FEW),
    Way("silent of 3", SILENT, "dead", FEW),  # connections stay open without any hint
    Way("stopped of 3", signal.SIGTERM, "left", FEW),
    Way("killed of 10", KILLED, "dead", MANY),
    Way("silent of 10", SILENT, "dead", MANY),
)


@dataclass(slots=True)
class Ends:
    """The measured ends of one kind; times are in s."""

    way: Way
    seen: list[float] = field(default_factory=list)  # until all others reported it
    back: list[float] = field(default_factory=list)  # from the restart until all see each other
    falsely: int = 0
    suspected: int = 0  # suspicions of living nodes


@dataclass(slots=True)
class Found:
    """The findings of starts in which all nodes start at once.

    `seen` and `ready` have the s from the last start until all nodes saw each other, and until all were
    ready.
    """

    seen: list[float] = field(default_factory=list)
    ready: list[float] = field(default_factory=list)
    via: list[str] = field(default_factory=list)  # how each found each other, in the end


def by_mdns(processes: Processes) -> list[Node]:
    return [Node(processes, name, *ANYWHERE, "--mdns", log_level="info") for name in FEW]


def by_a_seed(processes: Processes) -> list[Node]:
    address = f"tcp://127.0.0.1:{free_ports(1)[0]}"
    first = Node(processes, FEW[0], "--bind", address, log_level="info")
    return [first, *(Node(processes, n, *ANYWHERE, "--peer", address, log_level="info") for n in FEW[1:])]


def find(start: Start, found: Found) -> None:
    """Measure one start in a new mesh, and add its figures to `found`."""
    with Processes() as processes, Watch(processes.place) as watch:
        nodes = start(processes)
        company = Company(processes, watch, nodes)
        with logs_kept(processes):
            since = company.start()
            found.seen.append(company.met(since))
        found.ready.append(max(node.program.out.stat().st_mtime for node in nodes) - since)
        found.via += [r["via"] for node in nodes for r in watch.rows(node.name) if r["via"] != "self"]


def go(ends: Ends, count: int, seed: int, advance: Callable[[], None]) -> None:
    """End a random node of one mesh `count` times in the way of `ends`, and start it again each time."""
    chance = random.Random(seed)
    names = ends.way.nodes
    with Processes() as processes, Watch(processes.place) as watch, logs_kept(processes):
        nodes = [Node(processes, name, *ANYWHERE, "--mdns", log_level="info") for name in names]
        company = Company(processes, watch, nodes)
        company.met(company.start())
        for _ in range(count):
            processes.pause(chance.uniform(0.0, BETWEEN))
            name = chance.choice(names)
            ends.seen.append(company.end(name, ends.way.number, ends.way.word))
            ends.back.append(company.start_again(name))
            ends.falsely += len(falsely(watch.said, name))
            ends.suspected += sum(s.kind == "suspect" and s.node != name for s in watch.said)
            advance()


def steps(count: int, times: int) -> int:
    return 2 * times + sum(way.times(count) for way in WAYS)


def measured(count: int, times: int, seed: int, advance: Callable[[], None]) -> Report:
    """Measure `times` starts of three nodes for each way of discovery, and `count` ends of each kind.

    There are fewer ends among ten nodes.
    """
    report = Report("finding", details={"seed": seed})
    for name, start in (("mdns", by_mdns), ("a seed", by_a_seed)):
        found = Found()
        for _ in range(times):
            find(start, found)
            advance()
        note = f"{times} times; all ready after {median(found.ready):.2f}; via {_counted(found.via)}"
        report.rows += _rows(f"found by {name}", found.seen, note)
        report.details[name] = {"seen": found.seen, "ready": found.ready}
    wrong = 0
    for way in WAYS:
        ends = Ends(way)
        go(ends, way.times(count), seed, advance)
        wrong += ends.falsely
        note = f"{len(ends.seen)} times; back after {median(ends.back):.2f}, worst {max(ends.back):.2f}"
        report.rows += _rows(way.name, ends.seen, f"{note}; {ends.suspected} false suspicions")
        report.details[way.name] = {"seen": ends.seen, "back": ends.back}
    report.rows.append(Row("falsely dead", wrong, flaw=f"{wrong} told of nodes that lived" if wrong else ""))
    return report


def _rows(name: str, values: list[float], note: str) -> list[Row]:
    return [Row(f"{name}, p50", median(values)), Row(f"{name}, p99", percentile(values, 0.99), note)]


def _counted(words: list[str]) -> str:
    return ", ".join(f"{word} {number}" for word, number in sorted(Counter(words).items()))
