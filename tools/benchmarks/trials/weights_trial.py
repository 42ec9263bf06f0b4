"""Masters of which one is slow: chosen in turn, and then by weights learned from the snapshots."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGTERM
from typing import Any

from mesh import sync
from tools.benchmarks.trials.balance_trial import MACHINE, Get, read_gets
from tools.benchmarks.trials.hesitation import Hesitation
from tools.running.nodes import ANYWHERE, READY, Node, all_see
from tools.running.processes import Failed, Processes

MASTERS, READER = ("heron", "stork", "egret", "crane", "curlew"), "ibis"
SLOW = "stork"
STOPPED, EVERY = 0.1, 0.4  # s of each stop, and between stops
DOMAIN, KEY = "NEWS", "news/today"
RATE = 400  # gets per second
FIRST = 2.0  # s of gets that do not count
SPARK = 300.0  # s that a job may take
IN_TURN, WEIGHTED = "RoundRobin", "WeightedRoundRobin"


@dataclass(slots=True)
class Phase:
    """The phase of one strategy."""

    strategy: str
    gets: list[Get] = field(default_factory=list)  # in order of time
    doubts: list[str] = field(default_factory=list)  # events about the slow node
    stops: int = 0  # number of stops


@dataclass(slots=True)
class Round:
    """The gets in turn, and those by the weights learned from them.

    `learnt` has for each node its weight, answers, latency_ms, capacity and reason.
    """

    in_turn: Phase
    weighted: Phase
    learnt: dict[str, dict[str, Any]]


def try_out(count: int, advance: Callable[[], None]) -> Round:
    """Run `count` gets in turn, then `count` gets by the weights learned from them."""
    seconds = FIRST + count / RATE
    with Processes() as processes:
        cluster, snapshots = processes.cluster, processes.place / "snapshots"
        in_turn = ask(processes, IN_TURN, seconds, snapshots)
        advance()
        file = learn(processes, snapshots)
        weights = file.read_text()
        advance()
    with Processes() as processes:
        processes.cluster = cluster  # weights belong to the cluster
        file = processes.place / "weights.json"
        file.write_text(weights)
        weighted = ask(processes, WEIGHTED, seconds, processes.place / "snapshots", file)
        advance()
    return Round(in_turn, weighted, json.loads(weights)["weights"])


def ask(
    processes: Processes, strategy: str, seconds: float, snapshots: Path, weights: Path | None = None
) -> Phase:
    """Run a mesh with a slow master for `seconds`, and return its figures when all nodes have stopped.

    `weights` is a file to be applied first; None means no weights.
    """
    phase = Phase(strategy)
    nodes = _start(processes, strategy, snapshots)
    environ = {"MESH_STATE_DIR": str(processes.place)}
    with sync.connect(READER, timeout=READY, environ=environ) as m:
        m.publish(KEY, b"We win", domain=DOMAIN)
        if weights is not None:
            _apply(processes, m, weights)
        last = m.call("events", after=0)["next"]
        [slow] = [node for node in nodes if node.name == SLOW]
        with Hesitation(slow.program, STOPPED, EVERY) as hesitation:
            phase.gets = _read(processes, seconds)
        phase.stops = hesitation.times
        events = m.call("events", after=last)["events"]
        phase.doubts = [event["text"] for event in events if event["node"] == SLOW]
    for node in nodes:
        processes.end([node.program], SIGTERM)
    return phase


def learn(processes: Processes, snapshots: Path) -> Path:
    """Return the path of the weights.json computed from the snapshots."""
    history, file = processes.place / "history", processes.place / "weights.json"
    master = ("--master", "local[2]")
    _job(processes, "ingest", "--from", str(snapshots), "--to", str(history), *master)
    _job(processes, "weights", "--to", str(history), "--out", str(file), *master)
    return file


def configuration(strategy: str, snapshots: Path) -> str:
    # A weight needs thirty states, and a round should not last a minute.
    lines = ["[timing]", "state = 0.5", "[balancing]", f'strategy = "{strategy}"']
    lines += ["[snapshots]", f"dir = {json.dumps(str(snapshots))}"]
    lines.append(f"[nodes.{READER}]")
    for name in MASTERS:
        lines += [f"[nodes.{name}]", f"[[nodes.{name}.master]]", f"domains = {json.dumps([DOMAIN])}"]
    return "\n".join(lines) + "\n"


def _start(processes: Processes, strategy: str, snapshots: Path) -> list[Node]:
    """Start the masters and the reader's node, wait until all see each other, and return them."""
    config, probe = processes.place / "mesh.toml", processes.place / "machine.json"
    config.write_text(configuration(strategy, snapshots))
    probe.write_text(json.dumps(MACHINE))
    nodes: list[Node] = []
    for name in (*MASTERS, READER):
        peers = [option for node in nodes[:1] for option in ("--peer", node.tcp)]
        options = (*ANYWHERE, *peers, "--config", str(config), "--probe", str(probe))
        nodes.append(Node(processes, name, *options))
        nodes[-1].start()
    processes.until(lambda: all_see(processes, nodes), READY, "no mesh")
    return nodes


def _apply(processes: Processes, m: sync.Client, weights: Path) -> None:
    """Apply weights with `mesh weights apply`, and return when the reader's node has them."""
    applied = processes.run("apply", "mesh", "weights", "apply", str(weights), "--url", READER)
    if applied.code:
        raise Failed(f"the weights were not applied: {applied.words()}")
    processes.until(lambda: m.call("weights")["weights"], READY, "no weights")


def _read(processes: Processes, seconds: float) -> list[Get]:
    answers = processes.place / "answers.txt"
    reader = processes.start(
        "reader", "tools.benchmarks.loads.balance_reader", READER, KEY, DOMAIN, str(RATE), str(answers)
    )
    processes.until(lambda: answers.exists() or reader.ended(), READY, "the reader was not ready")
    processes.pause(seconds)
    if reader.ended():
        raise Failed(f"the reader ended by itself: {reader.words()}")
    processes.end([reader], SIGTERM)
    gets = read_gets(answers)
    return [get for get in gets if get.at >= gets[0].at + FIRST]


def _job(processes: Processes, verb: str, *arguments: str) -> None:
    program = processes.start(verb, "spark", verb, *arguments)
    processes.until(program.ended, SPARK, f"{verb} did not end")
    if program.code:
        raise Failed(f"python -m mesh.history {verb}: {program.words()}")
