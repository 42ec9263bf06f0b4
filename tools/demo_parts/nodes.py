"""Which nodes run in the demo? Started, killed with -9, and started again with what they had."""

import json
import random
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.demo_parts.journey import FILES
from tools.demo_parts.processes import Failed, Processes, Program

READY = 30.0  # s; a busy machine is slow, not wrong
# Below those that the system gives to whoever dials: a dead node's port must stay free.
PORTS = range(20_000, 30_000)


class Node:
    """A `mesh up` in a process of its own."""

    def __init__(self, processes: Processes, name: str, tcp: str, file: Path) -> None:
        self.name = name
        self.tcp = tcp
        self.kills = 0
        self.boot = 0
        self.is_up = False
        self._processes = processes
        self._file = file
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
            self.name, "mesh", "up", "--json", "--config", str(self._file), "--id", self.name, "--bind",
            self.tcp, "--cluster", self._processes.cluster, "--log-level", "warning",
        )  # fmt: skip

    def is_ready(self) -> bool:
        """Has it said so? Failed if it has ended instead."""
        assert self._program is not None
        line, end, _ = self._program.out.read_text().partition("\n")
        if end and not self.is_up:
            said: dict[str, Any] = json.loads(line)
            self.boot, self.is_up = said["boot"], True
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


def all_nodes(processes: Processes) -> list[Node]:
    """Each with its mesh.toml. They link themselves as those say, whatever the order in which they start."""
    addresses = {name: f"tcp://127.0.0.1:{port}" for name, port in zip(FILES, _free_ports(), strict=False)}
    nodes = []
    for name, file in FILES.items():
        path = processes.place / f"{name}.toml"
        path.write_text(file.format_map(addresses))
        nodes.append(Node(processes, name, addresses[name], path))
        nodes[-1].launch()
    for node in nodes:
        processes.until(node.is_ready, READY, f"{node.name} was not ready")
    return nodes


def _free_ports() -> Iterator[int]:
    """Ports of 127.0.0.1 that nobody listens on."""
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        yield port


def sees_all(processes: Processes, node: str, count: int) -> bool:
    """Are so many alive, as this one sees it?"""
    program = processes.run("ls-json", "mesh", "ls", "--url", node, "--json")
    if program.code:
        raise Failed(f"mesh ls failed: {program.words()}")
    states = [row["state"] for row in json.loads(program.out.read_text())["nodes"]]
    return states.count("alive") == count
