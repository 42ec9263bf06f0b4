"""The nodes of the demo: started, killed with -9, and started again with their data."""

import json
import signal
import time
from pathlib import Path
from typing import Any

from tools.demo_parts.journey import FILES
from tools.running.processes import Failed, Processes, Program

READY = 30.0  # s; a busy machine is slow, not wrong


class Node:
    """A `mesh up` in a process of its own."""

    def __init__(self, processes: Processes, name: str, file: Path) -> None:
        self.name = name
        self.tcp = ""  # its address, once it is ready
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
        if self.is_up:
            return "up" if self.boot == 1 else f"up, boot {self.boot}"
        return "killed with -9" if self.kills else "starting"

    def words(self) -> str:
        """Return the end of the node's stderr, or an empty text before the first start."""
        return self._program.words() if self._program else ""

    def launch(self) -> None:
        """Start the node with the data of earlier starts, without waiting until it is ready."""
        self._started = time.monotonic()
        self._program = self._processes.start(
            self.name,
            "mesh",
            "up",
            "--json",
            "--config",
            str(self._file),
            "--id",
            self.name,
            "--cluster",
            self._processes.cluster,
            "--log-level",
            "warning",
        )

    def is_ready(self) -> bool:
        """Return whether the node has reported that it is ready. Raises: Failed, if it has ended."""
        assert self._program is not None
        line, end, _ = self._program.out.read_text().partition("\n")
        if end and not self.is_up:
            said: dict[str, Any] = json.loads(line)
            self.tcp, self.boot, self.is_up = said["tcp"][0], said["boot"], True
        elif not end and self._program.ended():
            raise Failed(f"{self.name} did not start: {self._program.words()}")
        return self.is_up

    def start(self) -> float:
        """Start the node, and return the seconds until it was ready."""
        self.launch()
        self._processes.until(self.is_ready, READY, f"{self.name} was not ready")
        return time.monotonic() - self._started

    def stop(self) -> dict[str, int]:
        """Stop the node, and return its counters. Raises Failed if it did not stop cleanly."""
        assert self._program is not None
        self._processes.end([self._program])
        self.is_up = False
        *_, last = self._program.out.read_text().splitlines()
        if self._program.code or "metrics" not in (said := json.loads(last)):
            raise Failed(f"{self.name} did not stop cleanly: {self._program.words()}")
        metrics: dict[str, int] = said["metrics"]
        return metrics

    def kill(self) -> None:
        assert self._program is not None
        self._processes.end([self._program], signal.SIGKILL)
        self.is_up = False
        self.kills += 1


def all_nodes(processes: Processes) -> list[Node]:
    """Start all nodes, each with its mesh.toml, and return when they are ready.

    They link as configured, whatever the order of their starts.
    """
    nodes = []
    for name, file in FILES.items():
        path = processes.place / f"{name}.toml"
        path.write_text(file)
        nodes.append(Node(processes, name, path))
        nodes[-1].launch()
    for node in nodes:
        processes.until(node.is_ready, READY, f"{node.name} was not ready")
    return nodes


def sees_all(processes: Processes, node: str, count: int) -> bool:
    """Return whether a node sees exactly `count` live nodes, found by multicast DNS, with their loads."""
    program = processes.run("ls-json", "mesh", "ls", "--url", node, "--json")
    if program.code:
        raise Failed(f"mesh ls failed: {program.words()}")
    rows = json.loads(program.out.read_text())["nodes"]
    found = [row for row in rows if row["via"] in ("self", "mdns") and row["load"] is not None]
    return len(found) == count and all(row["state"] == "alive" for row in found)
