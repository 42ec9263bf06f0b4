"""Measures one run with two clients at two nodes, each in a process of its own."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psutil

from tools.benchmarks.loads.figures import Count
from tools.benchmarks.loads.load import Load
from tools.running.nodes import Node
from tools.running.processes import Failed, Processes, Program

LIMIT = 180.0  # s that a run may take


@dataclass(frozen=True, slots=True)
class Run:
    """The figures of one load that was sent once.

    Times are in s, and `cpu` is by the name of the process.
    """

    load: Load
    count: Count
    to_last: float  # from the first post to the last arrival
    to_answered: float  # from the first post to the last answer
    cpu: dict[str, float]

    @property
    def rate(self) -> float:
        """Messages per second from the first post to the last arrival; lost messages are counted, too."""
        return self.load.messages / self.to_last

    @property
    def acked_rate(self) -> float:
        """Messages per second from the first post to the last answer."""
        return self.load.messages / self.to_answered


def run(processes: Processes, at: Node, to: Node, load: Load, way: Sequence[Node] = ()) -> Run:
    """Publish the load at `at` while a client of `to` is subscribed.

    `way` has the nodes between them, whose CPU time is measured, too. Raises Failed if a program fails, or
    after LIMIT seconds.
    """
    nodes = {node.name: psutil.Process(node.program.pid) for node in (at, *way, to)}
    subscriber = processes.start("subscriber", "tools.benchmarks.loads.subscriber", to.name, load.packed())
    ready = processes.place / load.ready
    processes.until(lambda: ready.exists() or subscriber.ended(), LIMIT, "the subscriber did not get ready")
    before = {name: _used(process) for name, process in nodes.items()}
    publisher = processes.start("publisher", "tools.benchmarks.loads.publisher", at.name, load.packed())
    programs = [publisher, subscriber]
    processes.until(
        lambda: all(p.ended() for p in programs) or any(p.code for p in programs), LIMIT, "no end"
    )
    cpu = {name: _used(process) - before[name] for name, process in nodes.items()}
    sent, came = said(publisher), said(subscriber)
    cpu |= {"publisher": sent["cpu"], "subscriber": came["cpu"]}
    count = Count(came["lost"], came["doubled"], came["disordered"])
    return Run(load, count, came["last"] - sent["began"], sent["answered"] - sent["began"], cpu)


def wait_for(processes: Processes, *programs: Program) -> None:
    """Wait until all programs have ended, or one of them has failed. Raises Failed after LIMIT seconds."""
    ended = lambda: all(p.ended() for p in programs) or any(p.code for p in programs)  # noqa: E731
    processes.until(ended, LIMIT, f"{programs[0].name} did not end")


def said(program: Program) -> Any:
    """Return the JSON that a program printed. Raises Failed if it failed."""
    if program.code:
        raise Failed(f"{program.name}: {program.words()}")
    return json.loads(program.out.read_text())


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
