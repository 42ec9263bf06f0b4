"""The five nodes of xmlBlaster's cluster tests: bilbo -> frodo -> heron <-> avalon, and golan -> heron.

Each has a mesh.toml. Nodes take any free port of 127.0.0.1, so they start in order, and a file has only
addresses of nodes that started earlier.
"""

import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import mesh
from mesh.client.client import Client
from mesh.config import Config, load
from mesh.shell.starting import start
from tests.mesh.meshes import Mesh, alive, eventually
from tests.mesh.running import RunningNode, environment, state_directory, until

RUGBY, SOCCER, STOCK = "RUGBY_NEWS", "SOCCER_NEWS", "STOCK_EXCHANGE"
TREE = 'links = "configured"\ndefault_scope = "local"\n'

HERON = f"""{TREE}
[nodes.heron]
[[nodes.heron.master]]
domains = ["RUGBY_NEWS", "SOCCER_NEWS"]

[nodes.avalon]
[[nodes.avalon.master]]
domains = ["STOCK_EXCHANGE"]
"""
AVALON = f"""{TREE}
[nodes.avalon]
[[nodes.avalon.master]]
domains = ["STOCK_EXCHANGE"]

[nodes.heron]
address = "{{heron}}"
[[nodes.heron.master]]
domains = ["RUGBY_NEWS", "SOCCER_NEWS"]
"""
GOLAN = f"""{TREE}
[nodes.golan]
[[nodes.golan.master]]
domains = ["STOCK_EXCHANGE"]

[nodes.heron]
address = "{{heron}}"
[[nodes.heron.master]]
domains = ["RUGBY_NEWS", "SOCCER_NEWS"]
[[nodes.heron.master]]
domains = ["STOCK_EXCHANGE"]
stratum = 1
"""
FRODO = f"""{TREE}
[nodes.frodo]
[[nodes.frodo.master]]
domains = ["STOCK_EXCHANGE"]
stratum = 2

[nodes.heron]
address = "{{heron}}"
[[nodes.heron.master]]
domains = ["RUGBY_NEWS", "SOCCER_NEWS"]
[[nodes.heron.master]]
domains = ["STOCK_EXCHANGE"]
stratum = 1
"""
BILBO = f"""{TREE}
[timing]
ping = 0.5
backoff_max = 0.5

[nodes.frodo]
address = "{{frodo}}"
[[nodes.frodo.master]]
domains = ["RUGBY_NEWS", "SOCCER_NEWS"]
stratum = 1
[[nodes.frodo.master]]
domains = ["STOCK_EXCHANGE"]
stratum = 2
"""
A0 = {"heron": HERON, "avalon": AVALON, "golan": GOLAN, "frodo": FRODO, "bilbo": BILBO}

Files = Mapping[str, str]  # node -> its mesh.toml, with {heron} for heron's address


def a0(*names: str) -> Files:
    """Return the files of these of the five nodes."""
    return {name: A0[name] for name in A0 if name in names}


class Loop(Mesh):
    """Nodes in the test's own event loop."""

    def __init__(self, state: Path) -> None:
        super().__init__(environment(state), {})
        self._state = state
        self._cluster = f"test-{secrets.token_hex(4)}"
        self.addresses: dict[str, str] = {}

    async def start(self, name: str, file: str) -> None:
        """Start a node with this file and its existing data."""
        config = self.config(name, file, {"node.id": name, "node.cluster": self._cluster})
        node = await start(config, self.environ)
        self.nodes[name] = node
        self.addresses[name] = node.described()["tcp"][0]

    def config(self, name: str, file: str, given: dict[str, Any]) -> Config:
        return load(write(self._state, name, file, self.addresses), {}, given)

    async def stop(self, name: str) -> None:
        await self.nodes.pop(name).close()

    async def met(self) -> None:
        """Wait until all nodes see each other."""
        await eventually(lambda: all(alive(self, name) == len(self.nodes) for name in self.nodes))


class Processes:
    """Nodes that are processes of their own."""

    def __init__(self, state: Path) -> None:
        self.environ = environment(state)
        self.nodes: dict[str, RunningNode] = {}
        self._state = state
        self._cluster = f"test-{secrets.token_hex(4)}"

    def __getitem__(self, name: str) -> RunningNode:
        return self.nodes[name]

    def connect(self, name: str, **options: Any) -> Client:
        return mesh.connect(name, environ=self.environ, **options)

    def start(self, name: str, file: str) -> RunningNode:
        """Start a node with this file and its existing data."""
        path = write(self._state, name, file, {known: node.tcp for known, node in self.nodes.items()})
        if name not in self.nodes:
            options = ("--config", str(path), "--log-level", "debug")
            self.nodes[name] = RunningNode(name, self._state, self._cluster, options)
        self.nodes[name].start()
        return self.nodes[name]

    def met(self) -> None:
        """Wait until all running nodes see each other."""
        up = [name for name, node in self.nodes.items() if node.is_running]
        until(lambda: all(self._alive(name) == len(up) for name in up))

    def _alive(self, name: str) -> int:
        with mesh.sync.connect(name, environ=self.environ) as m:
            return sum(row["state"] == "alive" for row in m.call("ls")["nodes"])

    def end(self) -> None:
        """Stop all nodes. None may have logged a traceback."""
        for node in self.nodes.values():
            if node.is_running:
                node.stop()
        for node in self.nodes.values():
            assert "Traceback" not in node.log, node.log


def write(state: Path, name: str, file: str, addresses: Mapping[str, str]) -> Path:
    """Write the node's mesh.toml into the test's state directory."""
    path = state / f"{name}.toml"
    path.write_text(file.format_map(addresses))
    return path


@asynccontextmanager
async def loop_of(files: Files, kind: type[Loop] = Loop) -> AsyncIterator[Loop]:
    """Run these nodes in this event loop. They see each other when the block begins."""
    with state_directory() as state:
        made = kind(state)
        try:
            for name, file in files.items():
                await made.start(name, file)
            await made.met()
            yield made
        finally:
            for name in list(made.nodes):
                await made.stop(name)


@contextmanager
def processes_of(files: Files, kind: type[Processes] = Processes) -> Iterator[Processes]:
    """Run these nodes as processes. They see each other when the block begins."""
    with state_directory() as state:
        made = kind(state)
        try:
            for name, file in files.items():
                made.start(name, file)
            made.met()
            yield made
        finally:
            made.end()
