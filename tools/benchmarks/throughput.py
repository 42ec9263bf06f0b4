"""How many messages a second go from a client of one node to a client of another?"""

from collections.abc import Callable
from dataclasses import asdict

from tools.benchmarks.figures import median
from tools.benchmarks.load import Load
from tools.benchmarks.nodes import start_nodes
from tools.benchmarks.report import Report, Row
from tools.benchmarks.runs import Run, run
from tools.demo_parts.processes import Processes


def loads(turn: int, messages: int) -> list[Load]:
    """One of each kind; they take turns, so that a slow minute of the machine meets all of them."""
    root = f"bench/{turn}"
    return [
        Load("one topic", f"{root}/one", messages),
        Load("100 topics, pattern", f"{root}/pattern", messages // 4, topics=100, exact=False),
        Load("100 topics, exact", f"{root}/exact", messages // 4, topics=100),
        Load("1 KiB", f"{root}/large", messages // 4, size=1024),
        Load("publish_many", f"{root}/many", messages, many=True),
    ]


def measured(rounds: int, messages: int, advance: Callable[[], None]) -> Report:
    """So many rounds of every load, `messages` of 100 B on one topic."""
    runs: list[Run] = []
    with Processes() as processes:
        at, to = start_nodes(processes, "heron", "stork")
        for turn in range(rounds):
            for load in loads(turn, messages):
                runs.append(run(processes, at, to, load))
                advance()
    names = list(dict.fromkeys(r.load.name for r in runs))
    rows = [_row(name, [r for r in runs if r.load.name == name]) for name in names]
    return Report("throughput", rows, {"runs": [{**asdict(r), "rate": r.rate} for r in runs]})


def _row(name: str, runs: list[Run]) -> Row:
    flaws = [str(r.count) for r in runs if not r.count.is_clean]
    cost = [
        f"{process} {median(1e6 * r.cpu[process] / r.load.messages for r in runs):.2f}"
        for process in runs[0].cpu
    ]
    spread = f"{min(r.rate for r in runs):,.0f} to {max(r.rate for r in runs):,.0f}; µs CPU a message: "
    return Row(name, median(r.rate for r in runs), spread + ", ".join(cost), "; ".join(flaws))
