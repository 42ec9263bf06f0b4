"""Which nodes run in the demo? Started, killed with -9, and started again with what they had."""

import json
import signal
import time
from typing import Any

from tools.demo_parts.processes import Failed, Processes, Program

READY = 30.0  # s; a busy machine is slow, not wrong


class Node:
    """A `mesh up` in a process of its own."""

    def __init__(self, processes: Processes, name: str, peer: str = "") -> None:
        self.name = name
        self.kills = 0
        self.tcp = ""
        self.boot = 0
        self.is_up = False
        self._processes = processes
        self._peer = ("--peer", peer) if peer else ()
        self._program: Program | None = None
        self._started = 0.0

    @property
    def pid(self) -> int:
        return self._program.pid if self._program else 0

    @property
    def state(self) -> str:
        """In words."""
        if self.is_up:
            return "up" if self.boot == 1 else f"up, boot {self.boot}"
        return "killed with -9" if self.kills else "starting"

    def words(self) -> str:
        """The last that it wrote to stderr."""
        return self._program.words() if self._program else ""

    def launch(self) -> None:
        """Start it, with the data it had."""
        self._started = time.monotonic()
        self._program = self._processes.start(
            self.name, "mesh", "up", "--json", "--id", self.name, "--bind", "tcp://127.0.0.1:0",
            "--cluster", self._processes.cluster, "--log-level", "warning", *self._peer,
        )  # fmt: skip

    def is_ready(self) -> bool:
        """Has it said so? Failed if it has ended instead."""
        assert self._program is not None
        line, end, _ = self._program.out.read_text().partition("\n")
        if end and not self.is_up:
            said: dict[str, Any] = json.loads(line)
            self.tcp, self.boot, self.is_up = said["tcp"][0], said["boot"], True
        elif not end and self._program.ended():
            raise Failed(f"{self.name} did not start: {self._program.words()}")
        return self.is_up

    def start(self) -> float:
        """Until it is ready; returns the seconds that took."""
        self.launch()
        self._processes.until(self.is_ready, READY, f"{self.name} was not ready")
        return time.monotonic() - self._started

    def kill(self) -> None:
        """kill -9: no time for a last word."""
        assert self._program is not None
        self._processes.end([self._program], signal.SIGKILL)
        self.is_up = False
        self.kills += 1


def three_nodes(processes: Processes) -> list[Node]:
    """The first stands alone; the others are told of it, and meet each other through it."""
    first = Node(processes, "heron")
    first.start()
    others = [Node(processes, name, first.tcp) for name in ("stork", "egret")]
    for node in others:
        node.launch()
    for node in others:
        processes.until(node.is_ready, READY, f"{node.name} was not ready")
    return [first, *others]


def all_alive(processes: Processes, nodes: list[Node]) -> bool:
    """Does the first node see every other?"""
    program = processes.run("ls-json", "mesh", "ls", "--url", nodes[0].name, "--json")
    if program.code:
        raise Failed(f"mesh ls failed: {program.words()}")
    states = [row["state"] for row in json.loads(program.out.read_text())["nodes"]]
    return states.count("alive") == len(nodes)
