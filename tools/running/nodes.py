"""Real nodes: `mesh up` processes that are started, watched, killed, and started again."""

import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from typing import Any

import mesh
from tools.running.processes import Failed, Processes, Program

READY = 30.0  # s; a busy machine is slow, not wrong
DRAINED = 180.0  # s for one drain
ANYWHERE = ("--bind", "tcp://127.0.0.1:0")


class Node:
    """A node in a process of its own.

    The `options` of `mesh up` give its address, and the nodes that it knows.
    """

    def __init__(
        self,
        processes: Processes,
        name: str,
        *options: str,
        log_level: str = "warning",
        inside: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.tcp = ""
        self.is_up = False
        self._processes = processes
        self.inside = inside  # may change before the next start
        self._options = (*options, "--log-level", log_level)
        self._program: Program | None = None

    @property
    def program(self) -> Program:
        assert self._program is not None, f"{self.name} was never started"
        return self._program

    def launch(self, *more: str) -> None:
        """Start the node with its data, and with `more` options this once; do not wait until it is ready."""
        self._program = self._processes.start(
            self.name,
            "mesh",
            "up",
            "--json",
            "--no-mdns",
            "--id",
            self.name,
            "--cluster",
            self._processes.cluster,
            *self._options,
            *more,
            inside=self.inside,
        )

    def is_ready(self) -> bool:
        """Return whether the node is ready, and note its address. Raises Failed if the node has ended."""
        if self.program.ended():
            raise Failed(f"{self.name} ended by itself: {self.program.words()}")
        line, end, _ = self.program.out.read_text().partition("\n")
        if end and not self.is_up:
            said: dict[str, Any] = json.loads(line)
            self.tcp, self.is_up = said["tcp"][0], True
        return self.is_up

    def start(self, *more: str) -> None:
        self.launch(*more)
        self._processes.until(self.is_ready, READY, f"{self.name} was not ready")

    def kill(self) -> None:
        self._processes.end([self.program], signal.SIGKILL)
        self.is_up = False

    def stop(self) -> None:
        """Stop the node as its service does. Raises: Failed, if its exit code is not 0."""
        self._processes.end([self.program])
        self.is_up = False
        if self.program.code:
            raise Failed(f"{self.name} ended with {self.program.code}: {self.program.words()}")

    def drain(self) -> None:
        """Drain the node with its clients, and stop it when it is empty. Raises: Failed."""
        down = f"{sys.executable} -m mesh down --url {self.name}"
        options = ("--url", self.name, "--clients", "--then", down)
        ran = self._processes.run(f"drain-{self.name}", "mesh", "drain", *options, limit=DRAINED)
        if ran.code:
            raise Failed(f"the drain of {self.name} ended with {ran.code}: {ran.words()}")
        self._processes.until(self.program.ended, READY, f"{self.name} did not stop")
        self.is_up = False


def start_nodes(processes: Processes, *names: str, log_level: str = "warning") -> list[Node]:
    """Start nodes, and return when all see each other.

    All others know the first node from the start.
    """
    first = Node(processes, names[0], *ANYWHERE, log_level=log_level)
    first.start()
    others = [
        Node(processes, name, *ANYWHERE, "--peer", first.tcp, log_level=log_level) for name in names[1:]
    ]
    for node in others:
        node.start()
    nodes = [first, *others]
    processes.until(lambda: all_see(processes, nodes), READY, "no mesh")
    return nodes


def all_see(processes: Processes, nodes: list[Node]) -> bool:
    """Return whether all nodes see all others alive."""
    return all(_sees(processes, node, len(nodes)) for node in nodes)


def _sees(processes: Processes, node: Node, count: int) -> bool:
    rows: list[dict[str, Any]] = asyncio.run(_call(processes, node, "ls"))["nodes"]
    return len([row for row in rows if row["state"] == "alive"]) == count


async def _call(processes: Processes, node: Node, verb: str) -> Any:
    environ = {"MESH_STATE_DIR": str(processes.place)}
    async with mesh.connect(node.name, environ=environ) as m:
        return await m.call(verb)
