"""The delay of commands for users: a first message, and a list of many nodes."""

import os
import time
from collections.abc import Callable

from tools.benchmarks.loads.figures import median
from tools.benchmarks.pages.report import Report, Row
from tools.running.nodes import ANYWHERE, READY, Node
from tools.running.processes import Failed, Processes, Program

NODES = 4_000
KNOWS_THEM = 120.0  # s
LISTED = 300.0  # s
STEPS = 2


def measured(times: int, advance: Callable[[], None], nodes: int = NODES) -> Report:
    """Measure a first message, and a list of `nodes` nodes, `times` times each."""
    with Processes() as processes:
        firsts = [first_message(processes, f"node{n}") for n in range(times)]
    advance()
    with Processes() as processes:
        listed = [listed_nodes(processes, nodes) for _ in range(times)] if _crowded(processes, nodes) else []
    advance()
    seconds, cpu, rows = ([each[i] for each in listed] for i in range(3))
    flaw = "" if set(rows) == {nodes} else f"{min(rows):,} of {nodes:,} nodes are listed"
    return Report(
        "commands",
        [
            Row("first message", median(firsts), f"{times} times"),
            Row("ls, many", median(seconds), f"{nodes:,} nodes; {median(cpu):.1f} s of CPU", flaw),
        ],
        {"first": firsts, "ls": seconds, "ls, cpu": cpu},
    )


def first_message(processes: Processes, name: str) -> float:
    """Return the seconds from `mesh up` until `mesh sub` shows the message of `mesh pub`.

    Each command begins when the one before is ready.
    """
    began = time.monotonic()
    node = Node(processes, name, *ANYWHERE)
    node.start()
    reader = processes.start(f"sub-{name}", "mesh", "sub", "sensors/#", "--url", name)
    processes.until(lambda: "subscribed to" in _said(reader), READY, "mesh sub was not ready")
    writer = processes.run(f"pub-{name}", "mesh", "pub", "sensors/kitchen", "21.5", "--url", name)
    if writer.code:
        raise Failed(f"mesh pub ended with {writer.code}: {writer.words()}")
    processes.until(lambda: "21.5" in _said(reader), READY, "no message came")
    taken = time.monotonic() - began
    processes.end([reader, node.program])
    return taken


def _said(program: Program) -> str:
    return program.out.read_text() + program.err.read_text()


def _crowded(processes: Processes, nodes: int) -> bool:
    """Start a node that knows `nodes` nodes, itself included, and return True."""
    module = "tools.benchmarks.loads.crowded_node"
    node = processes.start("heron", module, "heron", processes.cluster, str(nodes - 1))
    processes.until(lambda: node.ended() or node.out.read_text(), KNOWS_THEM, "the node was not ready")
    if node.ended():
        raise Failed(f"the node ended: {node.words()}")
    return True


def listed_nodes(processes: Processes, nodes: int) -> tuple[float, float, int]:
    """Return the duration of `mesh ls` in s, its CPU time, and the number of listed nodes."""
    began, before = time.monotonic(), os.times()
    program = processes.run("ls", "mesh", "ls", "--all", "--url", "heron", limit=LISTED)
    taken, after = time.monotonic() - began, os.times()
    if program.code:
        raise Failed(f"mesh ls ended with {program.code}: {program.words()}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    table = program.out.read_text().partition("\n\n")[0].splitlines()
    return taken, cpu, len(table) - 1
