"""The cost of queues with parts at several nodes.

The cases are jobs that are all consumed at other nodes, a slow consumer, and idle queues.
"""

import asyncio
import json
import signal
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import psutil

import mesh
from mesh.features.queues.model.declared.definition import Distribution
from tools.benchmarks.loads.figures import median
from tools.benchmarks.loads.runs import LIMIT
from tools.benchmarks.pages.report import Report, Row
from tools.benchmarks.peers.servers import Server
from tools.benchmarks.queues.cases import APART
from tools.benchmarks.queues.flow import run
from tools.benchmarks.queues.jobs import Jobs
from tools.benchmarks.queues.workers import WORKERS
from tools.running.nodes import ANYWHERE, Node, start_nodes
from tools.running.processes import Processes, Program

ALONE, NAMES = "stork", ("heron", "egret", "crane", "ibis", "wren")
SIZE = 100
SECONDS = (0.1, 0.01, 0.01)  # per job at each node
WORK = "work"
DISTRIBUTIONS: tuple[Distribution, ...] = ("local", "round_robin")
WATCHED = 15.0  # s
KNOWN = 30.0  # s until all of many definitions are known
Advance = Callable[[], None]


@dataclass(slots=True)
class Found:
    """The measured figures.

    `alone` and `apart` have the jobs per second of each round, at one node and at three. `idle` is the use of
    the busiest node in percent of a core.
    """

    alone: dict[int, list[float]] = field(default_factory=dict)  # by window
    apart: dict[int, list[float]] = field(default_factory=dict)
    skewed: dict[str, float] = field(default_factory=dict)  # by distribution: relative duration
    idle: tuple[float, float] = (0.0, 0.0)  # a node, without queues and with them
    flaws: list[str] = field(default_factory=list)


def steps(rounds: int) -> int:
    return 2 * len(APART) * rounds + len(DISTRIBUTIONS) + 1


def measured(rounds: int, jobs: int, idle: int, advance: Advance) -> Report:
    """Measure with `jobs` jobs per run, a tenth of them for the slow consumer, and with `idle` queues."""
    found = Found()
    with Processes() as processes:
        one = Node(processes, ALONE, *ANYWHERE, "--cluster", f"{processes.cluster}-alone")
        one.start()
        nodes = start_nodes(processes, *NAMES)
        for turn in range(rounds):
            for window in APART:
                _flow(processes, found, found.alone, (one, one, one), turn, window, jobs)
                advance()
                _flow(processes, found, found.apart, nodes, turn, window, jobs)
                advance()
        for distribution in DISTRIBUTIONS:
            found.skewed[distribution] = _skewed(processes, nodes, distribution, jobs // 10)
            advance()
        found.idle = _idle(processes, nodes, idle)
        advance()
    return told(found, idle)


def _flow(
    processes: Processes,
    found: Found,
    rates: dict[int, list[float]],
    nodes: tuple[Node, ...] | list[Node],
    turn: int,
    window: int,
    jobs: int,
) -> None:
    """Run a producer at the first node and consumers at the next two, and append the rate to `rates`."""
    first, second, third, *_ = nodes
    outward = f"{second.name} {third.name}"
    at = Server(tuple({n.name: n.program for n in (first, second, third)}.values()), first.name, outward)
    said = Jobs(f"flow-{turn}-{window}-{first.name}", jobs, SIZE, window, 1, 2)
    outcome = run(processes, at, WORKERS["heronry"], said, waits=False)
    if outcome.flaw:
        found.flaws.append(f"{said.name}: {outcome.flaw}")
    rates.setdefault(window, []).append(outcome.figures.get("flow", 0.0))


def _skewed(processes: Processes, nodes: list[Node], distribution: Distribution, jobs: int) -> float:
    """Put all jobs at the node of the slow consumer, and return the duration relative to the ideal one.

    In the ideal case no consumer waits for a job, and each works as fast as it did on its jobs, with acks.
    """
    name = f"skewed-{distribution}"
    _ask(processes, nodes[0], lambda m: m.queue(name).declare(distribution=distribution))
    for node in nodes[1:3]:
        _until_known(processes, node, [name])
    programs: list[Program] = []
    for node, seconds in zip(nodes, SECONDS, strict=False):
        command = (node.name, name, str(seconds))
        programs.append(processes.start(f"slow-{node.name}", "tools.benchmarks.loads.queue_slow", *command))
    processes.until(lambda: all(program.out.read_text() for program in programs), LIMIT, "nobody took")
    began = time.monotonic()
    _ask(processes, nodes[0], lambda m: m.queue(name).put_many([b"." * SIZE] * jobs))
    processes.until(lambda: not _left(processes, nodes[0], name), LIMIT, "not all was done")
    took = time.monotonic() - began
    processes.end(programs, signal.SIGTERM)
    done = [json.loads(program.out.read_text().split("\n", 1)[1]) for program in programs]
    return took / (jobs / sum(float(n / seconds) for n, seconds in done if n))


def _idle(processes: Processes, nodes: list[Node], queues: int) -> tuple[float, float]:
    """Return the busiest node's CPU use in percent of a core, without the idle queues and with them."""
    before = _busy(processes, nodes)
    names = [f"idle-{n}" for n in range(queues)]

    async def declare(m: mesh.Client) -> None:
        for name in names:
            await m.queue(name).declare()

    _ask(processes, nodes[0], declare)
    for node in nodes[1:]:
        _until_known(processes, node, names[-1:])
    return before, _busy(processes, nodes)


def _busy(processes: Processes, nodes: list[Node]) -> float:
    def used() -> list[float]:
        times = [psutil.Process(node.program.pid).cpu_times() for node in nodes]
        return [t.user + t.system for t in times]

    before = used()
    processes.pause(WATCHED)
    return 100 * max(b - a for a, b in zip(before, used(), strict=True)) / WATCHED


def _left(processes: Processes, node: Node, name: str) -> int:
    row: mesh.QueueRow = _ask(processes, node, lambda m: m.queue(name).info())
    return row.ready + row.out + row.delayed + row.going


def _until_known(processes: Processes, node: Node, names: list[str]) -> None:
    async def knows(m: mesh.Client) -> bool:
        found = [await m.call("queue_ls", here=True, after=name[:-1], limit=1000) for name in names]
        return all(any(r["name"] == n for r in page["queues"]) for n, page in zip(names, found, strict=True))

    processes.until(lambda: _ask(processes, node, knows), KNOWN, f"{node.name} does not know {names}")


def _ask(processes: Processes, node: Node, what: Callable[[mesh.Client], Coroutine[Any, Any, Any]]) -> Any:
    async def asked() -> Any:
        async with mesh.connect(node.name, environ={"MESH_STATE_DIR": str(processes.place)}) as m:
            return await what(m)

    return asyncio.run(asked())


def told(found: Found, idle: int) -> Report:
    rows, flaw = list[Row](), "; ".join(found.flaws)
    for window in APART:
        alone, apart = found.alone[window], found.apart[window]
        rows.append(Row(f"parts, alone, {window}", median(alone), "one node", flaw))
        rows.append(Row(f"parts, apart, {window}", median(apart), "put at one, taken at two others", flaw))
        ratios = [b / a if a else 0.0 for a, b in zip(alone, apart, strict=True)]
        note = f"{min(ratios):.2f} to {max(ratios):.2f}"
        rows.append(Row(f"parts, apart by alone, {window}", median(ratios), note, flaw))
    rows += [Row(f"parts, skewed, {name}", took) for name, took in found.skewed.items()]
    without, with_ = found.idle
    rows.append(Row("parts, without queues", without, f"{len(NAMES)} nodes"))
    rows.append(Row("parts, idle queues", with_, f"{idle:,} queues"))
    return Report("parts", rows)
