"""Nodes under load that are drained and restarted one by one: the pauses of their clients."""

import asyncio
from collections.abc import Callable
from time import monotonic

import mesh
from tools.benchmarks.loads.figures import median
from tools.benchmarks.loads.rolling_load import Outcome, RollingLoad
from tools.benchmarks.pages.report import Report, Row
from tools.running.nodes import ANYWHERE, READY, Node, all_see
from tools.running.processes import Processes

NAMES = ("heron", "stork", "ibis")
CALM = 1.0  # s of load before and after
MASTER = '[nodes.ibis]\n[[nodes.ibis.master]]\ndomains = ["NEWS"]\n'
WORK = ("publish", "put", "request")


def steps(rounds: int) -> int:
    return rounds * len(NAMES)


def measured(rounds: int, advance: Callable[[], None]) -> Report:
    """Restart all three nodes `rounds` times under load; a flaw is anything lost, doubled or refused."""
    with Processes() as processes:
        nodes = _started(processes)
        outcome, seconds = asyncio.run(_rolled(processes, nodes, rounds, advance))
    flaws = outcome.flaws()
    report = Report("rolling", details={"seconds": seconds, "longest": dict(outcome.longest), "flaws": flaws})
    messages = (
        f"{sum(outcome.published.values()):,} messages, {outcome.put:,} jobs, {outcome.replies:,} replies"
    )
    report.rows.append(Row("rolling, restart", median(seconds), f"worst {max(seconds):.1f}; {messages}"))
    report.rows += [Row(f"rolling, {kind}", 1000 * outcome.longest[kind]) for kind in WORK]
    report.rows.append(Row("rolling, flaws", len(flaws), flaw="; ".join(flaws[:5])))
    return report


def _started(processes: Processes) -> list[Node]:
    file = processes.place / "rolling.toml"
    file.write_text(MASTER)
    nodes: list[Node] = []
    for name in NAMES:
        seed = ("--peer", nodes[0].tcp) if nodes else ()
        node = Node(processes, name, *ANYWHERE, "--config", str(file), *seed)
        node.start()
        nodes.append(node)
    processes.until(lambda: all_see(processes, nodes), READY, "no mesh")
    return nodes


async def _rolled(
    processes: Processes, nodes: list[Node], rounds: int, advance: Callable[[], None]
) -> tuple[Outcome, list[float]]:
    environ = {"MESH_STATE_DIR": str(processes.place)}
    load = RollingLoad(lambda node, client: mesh.connect(node, client=client, environ=environ), NAMES)
    seconds: list[float] = []
    async with load.at_work() as outcome:
        await asyncio.sleep(CALM)
        for node in nodes * rounds:
            begun = monotonic()
            await asyncio.to_thread(_restart, processes, nodes, node)
            seconds.append(monotonic() - begun)
            advance()
        await asyncio.sleep(CALM)
    return outcome, seconds


def _restart(processes: Processes, nodes: list[Node], node: Node) -> None:
    """Drain a node, stop it when it is empty, and start it again. Raises: Failed."""
    node.drain()
    node.start()
    processes.until(lambda: all_see(processes, nodes), READY, "no mesh after a restart")
