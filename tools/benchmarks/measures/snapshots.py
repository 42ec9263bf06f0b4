"""The cost of writing snapshots for a node."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psutil

from tools.benchmarks.loads.figures import median
from tools.benchmarks.loads.runs import said
from tools.benchmarks.pages.report import Report, Row
from tools.running.nodes import ANYWHERE, READY, Node, all_see
from tools.running.processes import Failed, Processes

STEPS = 2
PACES = {"idle": 0, "writing": 1, "hurried": 100}  # of the log alone, with increasing speed
NODES = 10  # real nodes, every other one writes
SETTLING = 10.0  # s until all have met
ENDING = 60.0  # s until the programs end


def measured(seconds: float, advance: Callable[[], None]) -> Report:
    with Processes() as processes:
        alone = write_alone(processes, seconds)
        advance()
    with Processes() as processes:
        used = run_nodes(processes, seconds)
        advance()
    return told(alone, used)


def write_alone(processes: Processes, seconds: float) -> dict[str, Any]:
    """Return the figures of each pace by its name; the programs of all paces run at the same time."""
    module = "tools.benchmarks.loads.snapshot_writer"
    programs = {
        name: processes.start(name, module, str(processes.place / name), str(seconds), str(pace))
        for name, pace in PACES.items()
    }
    processes.until(
        lambda: all(program.ended() for program in programs.values()), seconds + ENDING, "no end of it"
    )
    return {name: said(program) for name, program in programs.items()}


def run_nodes(processes: Processes, seconds: float) -> dict[bool, list[float]]:
    """Return the CPU use in percent of a core: of the nodes that write (True), and of the others (False).

    Raises Failed if a node wrote nothing, or wrote although it should not.
    """
    place = processes.place / "snapshots"
    nodes: dict[Node, bool] = {}
    for number in range(NODES):
        writes = number % 2 == 1
        config = processes.place / f"mesh-{writes}.toml"
        config.write_text(f'[snapshots]\nenabled = {str(writes).lower()}\ndir = "{place}"\n')
        peers = [option for node in list(nodes)[:1] for option in ("--peer", node.tcp)]
        node = Node(processes, f"node{number}", *ANYWHERE, *peers, "--config", str(config))
        node.start()
        nodes[node] = writes
    processes.until(lambda: all_see(processes, list(nodes)), READY, "no mesh")
    processes.pause(SETTLING)
    before = {node: _cpu(node) for node in nodes}
    processes.pause(seconds)
    used: dict[bool, list[float]] = {True: [], False: []}
    for node, writes in nodes.items():
        used[writes].append(100 * (_cpu(node) - before[node]) / seconds)
        if writes != any(place.rglob(f"*{node.name}-*.jsonl")):
            raise Failed(f"{node.name} {'wrote nothing' if writes else 'wrote'}.")
    return used


def _cpu(node: Node) -> float:
    times = psutil.Process(node.program.pid).cpu_times()
    return float(times.user + times.system)


def told(alone: dict[str, Any], used: Mapping[bool, Sequence[float]]) -> Report:
    idle, writing, hurried = (alone[name] for name in PACES)
    cost = percent(writing) - percent(idle)
    each = 1e6 * hurried["cpu"] / hurried["lines"]
    flaw = next((text for text in map(lost, alone.values()) if text), "")
    note = (
        f"{writing['lines']} lines in {writing['seconds']:.0f} s; {percent(idle):.2f} % when it writes none"
    )
    without = median(used[False])
    rows = [
        Row("snapshots, cpu", cost, note, flaw),
        Row(
            "snapshots, line",
            each,
            f"{hurried['lines']} lines, {hurried['snapshot_segments']} segments",
            flaw,
        ),
        Row("snapshots, node", median(used[True]) / without, f"{without:.2f} % of a core without"),
    ]
    details = {"alone": alone, "nodes": {"writing": used[True], "not writing": used[False]}}
    return Report("snapshots", rows, json.loads(json.dumps(details)))


def percent(run: dict[str, Any]) -> float:
    return float(100 * run["cpu"] / run["seconds"])


def lost(run: dict[str, Any]) -> str:
    """Return the flaw of a run with unwritten lines, or ""."""
    missing = run["lines"] - run["snapshot_lines"]
    return f"{missing} lines were lost: {'; '.join(run['told'])}" if missing else ""
