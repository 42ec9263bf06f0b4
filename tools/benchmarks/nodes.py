"""Which nodes are measured? `mesh up` processes: started, watched, killed, and started again."""

import asyncio
import json
import signal
from typing import Any

import mesh
from tools.demo_parts.processes import Failed, Processes, Program

READY = 30.0  # s; a busy machine is slow, not wrong


class Node:
    """One node. `peer` is an address that it is told of."""

    def __init__(self, processes: Processes, name: str, peer: str = "", log_level: str = "warning") -> None:
        self.name = name
        self.tcp = ""
        self.is_up = False
        self._processes = processes
        self._options = ("--log-level", log_level, *(("--peer", peer) if peer else ()))
        self._program: Program | None = None

    @property
    def program(self) -> Program:
        assert self._program is not None, f"{self.name} was never started"
        return self._program

    def launch(self) -> None:
        """Start it, with the data it had; `is_ready` says when it is there."""
        self._program = self._processes.start(
            self.name, "mesh", "up", "--json", "--id", self.name, "--bind", "tcp://127.0.0.1:0",
            "--cluster", self._processes.cluster, *self._options,
        )  # fmt: skip

    def is_ready(self) -> bool:
        """Failed if it has ended by itself."""
        if self.program.ended():
            raise Failed(f"{self.name} ended by itself: {self.program.words()}")
        line, end, _ = self.program.out.read_text().partition("\n")
        if end and not self.is_up:
            said: dict[str, Any] = json.loads(line)
            self.tcp, self.is_up = said["tcp"][0], True
        return self.is_up

    def start(self) -> None:
        """Launch it, and wait until it is ready."""
        self.launch()
        self._processes.until(self.is_ready, READY, f"{self.name} was not ready")

    def kill(self) -> None:
        """kill -9."""
        self._processes.end([self.program], signal.SIGKILL)
        self.is_up = False


def start_nodes(processes: Processes, *names: str, log_level: str = "warning") -> list[Node]:
    """The first stands alone, the others are told of it; returns when all see each other."""
    first = Node(processes, names[0], log_level=log_level)
    first.start()
    nodes = [first, *(Node(processes, name, first.tcp, log_level) for name in names[1:])]
    for node in nodes[1:]:
        node.start()
    processes.until(lambda: all(_sees(processes, node, len(nodes)) for node in nodes), READY, "no mesh")
    return nodes


def _sees(processes: Processes, node: Node, count: int) -> bool:
    rows: list[dict[str, Any]] = asyncio.run(_call(processes, node, "ls"))["nodes"]
    return len([row for row in rows if row["state"] == "alive"]) == count


async def _call(processes: Processes, node: Node, verb: str) -> Any:
    environ = {"MESH_STATE_DIR": str(processes.place)}
    async with mesh.connect(node.name, environ=environ) as m:
        return await m.call(verb)
