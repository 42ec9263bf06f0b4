"""Three masters, one of which is busy for a while, and a reader that records each answer."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL, SIGTERM, SIGUSR1
from typing import Any

from mesh import sync
from tools.running.nodes import ANYWHERE, READY, Node, all_see
from tools.running.processes import Failed, Processes, Program

MASTERS, READER = ("heron", "stork", "egret"), "ibis"
VICTIM = "stork"  # the busy master
DOMAIN, OWN, KEY = "NEWS", "ITS_OWN", "news/today"
TOPICS = 20_000  # read continuously to keep its loop busy
RATE = 1_000  # gets per second
HEARD, RELIEVED = 6.0, 10.0  # s until load and relief show
IDLE = 0.1  # load below which it counts as idle
PATIENCE = 60.0  # s for that, after the topics were published
# All nodes share a machine, whose load would be the same for all. So each reports idle cores, and the delay
# of its own event loop is its load.
MACHINE = {"cpu": [0, 0], "ram_free": 4_000_000_000, "ram_total": 8_000_000_000}


@dataclass(frozen=True, slots=True)
class Get:
    """A get: when it was sent and how long it took (s), and the master that answered or an error code."""

    at: float
    taken: float
    source: str


@dataclass(slots=True)
class Trial:
    """The run of one strategy.

    `busy` and `relieved` are the times at which the stages begin, and `ended` that of the end (s).
    """

    strategy: str
    gets: list[Get] = field(default_factory=list)  # in order of time
    busy: float = 0.0
    relieved: float = 0.0
    ended: float = 0.0
    said: dict[str, str] = field(default_factory=dict)  # stage -> the victim's state at its end

    def between(self, start: float, end: float) -> list[Get]:
        return [get for get in self.gets if start <= get.at < end]

    def stages(self, count: int) -> dict[str, list[Get]]:
        """Return at most `count` gets of each stage.

        They are the last gets before the load, and the first ones after the times in which load and relief
        may show.
        """
        return {
            "before": self.between(0.0, self.busy)[-count:],
            "busy": self.between(self.busy + HEARD, self.relieved)[:count],
            "relieved": self.between(self.relieved + RELIEVED, self.ended)[:count],
        }


def try_out(strategy: str, count: int, advance: Callable[[], None]) -> Trial:
    """Run `count` gets before the load, `count` while it must have an effect, and `count` after its end."""
    with Processes() as processes:
        _start(processes, strategy)
        load = _fill(processes)
        environ = {"MESH_STATE_DIR": str(processes.place)}
        with sync.connect(READER, timeout=READY, environ=environ) as m:
            m.publish(KEY, b"We win", domain=DOMAIN)
            processes.until(lambda: _row(m)["load"] < IDLE, PATIENCE, f"{VICTIM} was not idle again")
            return _run(processes, Trial(strategy), load, m, count / RATE, advance)


def _run(
    processes: Processes,
    trial: Trial,
    load: Program,
    m: sync.Client,
    seconds: float,
    advance: Callable[[], None],
) -> Trial:
    answers = processes.place / "answers.txt"
    reader = processes.start(
        "reader", "tools.benchmarks.loads.balance_reader", READER, KEY, DOMAIN, str(RATE), str(answers)
    )

    def stage(name: str, seconds: float) -> None:
        processes.pause(seconds)
        trial.said[name] = _told(m)
        for program in (reader, load) if name != "relieved" else (reader,):
            if program.ended():
                raise Failed(f"{program.name} ended by itself: {program.words()}")
        advance()

    processes.until(lambda: answers.exists() or reader.ended(), READY, "the reader was not ready")
    stage("before", 1.0 + seconds)
    trial.busy = time.monotonic()
    load.signal(SIGUSR1)
    stage("busy", HEARD + seconds)
    processes.end([load], SIGKILL)
    trial.relieved = time.monotonic()
    stage("relieved", RELIEVED + seconds)
    trial.ended = time.monotonic()
    processes.end([reader], SIGTERM)
    trial.gets = read_gets(answers)
    return trial


def configuration(strategy: str) -> str:
    lines = ["[balancing]", f'strategy = "{strategy}"', f"[nodes.{READER}]"]
    for name in MASTERS:
        domains = [DOMAIN, OWN] if name == VICTIM else [DOMAIN]
        lines += [f"[nodes.{name}]", f"[[nodes.{name}.master]]", f"domains = {json.dumps(domains)}"]
    return "\n".join(lines) + "\n"


def _start(processes: Processes, strategy: str) -> None:
    """Start the masters and the reader's node, and return when all see each other."""
    config, probe = processes.place / "mesh.toml", processes.place / "machine.json"
    config.write_text(configuration(strategy))
    probe.write_text(json.dumps(MACHINE))
    nodes: list[Node] = []
    for name in (*MASTERS, READER):
        peers = [option for node in nodes[:1] for option in ("--peer", node.tcp)]
        options = (*ANYWHERE, *peers, "--config", str(config), "--probe", str(probe))
        nodes.append(Node(processes, name, *options))
        nodes[-1].start()
    processes.until(lambda: all_see(processes, nodes), READY, "no mesh")


def _fill(processes: Processes) -> Program:
    """Start the program that will keep the victim busy, and wait until it has published its topics."""
    ready = processes.place / "filled"
    load = processes.start(
        "load", "tools.benchmarks.loads.balance_load", VICTIM, OWN, str(TOPICS), str(ready)
    )
    processes.until(lambda: ready.exists() or load.ended(), READY, "the topics were not published")
    return load


def _row(m: sync.Client) -> dict[str, Any]:
    [row] = [row for row in m.call("ls")["nodes"] if row["name"] == VICTIM]
    return row if row["load"] is not None else {**row, "load": 1.0, "lag": 0.0}


def _told(m: sync.Client) -> str:
    """Return the victim's load and its event loop's delay, as the reader's node knows them, for people."""
    row = _row(m)
    return f"load {row['load']:.2f}, loop {1000 * row['lag']:.0f} ms late"


def read_gets(answers: Path) -> list[Get]:
    """Return the gets that the reader recorded, in order of time."""
    lines = (line.split() for line in answers.read_text().splitlines())
    gets = [Get(float(at), float(taken), source) for at, taken, source in lines]
    return sorted(gets, key=lambda get: get.at)
