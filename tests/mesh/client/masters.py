"""Real nodes with routing rules, in the test's own event loop, that can be stopped and restarted.

heron is the master of RUGBY_NEWS, frodo the next hop to heron, and bilbo a slave of frodo.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from mesh.config import load
from mesh.shell.starting import start
from tests.mesh.meshes import Mesh, alive, eventually
from tests.mesh.running import LIMIT, environment, state_directory

RUGBY = "RUGBY_NEWS"
NAMES = ("heron", "frodo", "bilbo")
RULES = f"""
default_scope = "local"
[timing]
silence = 60.0
forward_patience = PATIENCE
backoff_max = 0.5
[[nodes.heron.master]]
domains = ["{RUGBY}"]
[[nodes.frodo.master]]
domains = ["{RUGBY}"]
stratum = 1
refid = "heron"
[nodes.bilbo]
"""
OF_BILBO = """
[[nodes.frodo.master]]
domains = ["RUGBY_NEWS"]
stratum = 1
"""


class Masters(Mesh):
    """Running nodes by name. Stopped nodes are missing."""

    def __init__(self, environ: dict[str, str], folder: Path, patience: float) -> None:
        super().__init__(environ, {})
        self._patience = patience
        self._cluster = f"test-{secrets.token_hex(4)}"
        self._folder = folder
        self._addresses: dict[str, str] = {}

    async def start(self, name: str) -> None:
        """Start a node with its existing data, and wait until all nodes see each other."""
        file = self._folder / f"{name}.toml"
        rules = RULES.replace(RULES[RULES.index("[[nodes.heron") : RULES.index("[nodes.bilbo]")], OF_BILBO)
        said = rules if name == "bilbo" else RULES
        file.write_text(said.replace("PATIENCE", str(self._patience)))
        peers = [address for peer, address in self._addresses.items() if peer != name]
        given: dict[str, object] = {"node.id": name, "node.cluster": self._cluster, "node.peers": peers}
        node = await start(load(file, {}, given), self.environ)
        self.nodes[name] = node
        self._addresses[name] = node.described()["tcp"][0]
        await eventually(lambda: all(alive(self, each) == len(self.nodes) for each in self.nodes))

    async def stop(self, name: str) -> None:
        """Stop a node, and wait until the others have noticed."""
        await self.nodes.pop(name).close()
        await eventually(lambda: all(alive(self, each) == len(self.nodes) for each in self.nodes))


@asynccontextmanager
async def masters(*names: str, patience: float = LIMIT) -> AsyncIterator[Masters]:
    """Run these nodes during the block, by default all three. They see each other when it begins.

    A publisher is warned after `patience` seconds without its master's answer.
    """
    async with AsyncExitStack() as stack:
        state = stack.enter_context(state_directory())
        made = Masters(environment(state), state, patience)

        async def close() -> None:
            for node in list(made.nodes.values()):
                await node.close()

        stack.push_async_callback(close)
        for name in names or NAMES:
            await made.start(name)
        yield made
