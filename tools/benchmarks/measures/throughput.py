"""The rate of messages from a client of one node to a client of another."""

from collections.abc import Callable
from dataclasses import asdict, dataclass

from tools.benchmarks.loads.figures import median
from tools.benchmarks.loads.load import Load
from tools.benchmarks.loads.runs import Run, run
from tools.benchmarks.pages.report import Report, Row
from tools.running.line import DOMAIN, start_line
from tools.running.nodes import Node, start_nodes
from tools.running.processes import Processes

STEPS = 8  # loads per round
# Ratio: (numerator, denominator). Each round gives one, so that a slow minute affects both sides.
RATIOS = {"rules by none": ("rules, here", "one topic"), "two hops by one": ("two hops", "one hop")}


@dataclass(frozen=True, slots=True)
class Nodes:
    """Two nodes without rules, and three in a chain of rules, all running so that loads can take turns."""

    at: Node
    to: Node
    bilbo: Node
    frodo: Node
    heron: Node


def started(processes: Processes) -> Nodes:
    at, to = start_nodes(processes, "stork", "egret")
    heron, frodo, bilbo = start_line(processes, "heron", "frodo", "bilbo")
    return Nodes(at, to, bilbo, frodo, heron)


def loads(turn: int, messages: int, nodes: Nodes) -> list[tuple[Load, tuple[Node, ...]]]:
    """Return one load of each kind, and the nodes that it passes, from the publisher's to the subscriber's.

    Loads to be compared are neighbors in the list.
    """
    root = f"bench/{turn}"
    plain, n = (nodes.at, nodes.to), nodes
    return [
        (Load("one topic", f"{root}/one", messages), plain),
        (Load("rules, here", f"{root}/here", messages, domain=DOMAIN), (n.heron, n.frodo)),
        (Load("one hop", f"{root}/hop", messages, domain=DOMAIN), (n.frodo, n.heron)),
        (Load("two hops", f"{root}/hops", messages, domain=DOMAIN), (n.bilbo, n.frodo, n.heron)),
        (Load("100 topics, pattern", f"{root}/pattern", messages // 4, topics=100, exact=False), plain),
        (Load("100 topics, exact", f"{root}/exact", messages // 4, topics=100), plain),
        (Load("1 KiB", f"{root}/large", messages // 4, size=1024), plain),
        (Load("publish_many", f"{root}/many", messages, many=True), plain),
    ]


def measured(rounds: int, messages: int, advance: Callable[[], None]) -> Report:
    """Run all loads in each round: `messages` messages, or a quarter for many topics or larger messages."""
    runs: list[Run] = []
    with Processes() as processes:
        nodes = started(processes)
        for turn in range(rounds):
            for load, (at, *way, to) in loads(turn, messages, nodes):
                runs.append(run(processes, at, to, load, way))
                advance()
    names = list(dict.fromkeys(r.load.name for r in runs))
    by_name = {name: [r for r in runs if r.load.name == name] for name in names}
    rows = [_row(name, found) for name, found in by_name.items()]
    rows += [ratio(name, by_name[of], by_name[base]) for name, (of, base) in RATIOS.items()]
    return Report("throughput", rows, {"runs": [{**asdict(r), "rate": r.rate} for r in runs]})


def _row(name: str, runs: list[Run]) -> Row:
    cost = [
        f"{process} {median(1e6 * r.cpu[process] / r.load.messages for r in runs):.2f}"
        for process in runs[0].cpu
    ]
    spread = f"{min(r.rate for r in runs):,.0f} to {max(r.rate for r in runs):,.0f}; µs CPU a message: "
    return Row(name, median(r.rate for r in runs), spread + ", ".join(cost), _flaws(runs))


def ratio(name: str, of: list[Run], base: list[Run]) -> Row:
    """Return the median of the ratios of each round, with the flaws of both sides."""
    ratios = [a.rate / b.rate for a, b in zip(of, base, strict=True)]
    return Row(name, median(ratios), f"{min(ratios):.2f} to {max(ratios):.2f}", _flaws([*of, *base]))


def _flaws(runs: list[Run]) -> str:
    return "; ".join(str(r.count) for r in runs if not r.count.is_clean)
