"""Machines on a LAN, each with a node and keys of one mesh: processes in network namespaces.

async with lan_of(3, dead=2) as lan:
    await lan.start(1, 2, 3)
    lan.lab.split([1], [2, 3])
    await lan.becomes({2: "dead", 3: "dead"}, at=1)
"""

import asyncio
import json
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import mesh
from mesh.client.client import Client
from mesh.security.joining import join, new_mesh, token_of
from tests import waiting
from tests.mesh.running import environment, state_directory
from tests.netlab import NetLab, require

LIMIT = waiting.LIMIT


class LanNode:
    """A machine whose user has the mesh's keys, and its node, which is named n1, n2 and so on."""

    def __init__(self, lab: NetLab, host: int, state: Path, cluster: str) -> None:
        self.name, self.host = f"n{host}", host
        self.environ = {**environment(state), "MESH_CLUSTER": cluster}
        del self.environ["MESH_DISCOVERY__MDNS"]
        self.address = f"tcp://{lab.address(host)}:7710"
        self._lab = lab
        self._cluster = cluster
        self._log = state / "log"
        self._process: subprocess.Popen[str] | None = None

    @property
    def log(self) -> str:
        """The node's stderr, over all starts."""
        return self._log.read_text() if self._log.exists() else ""

    @property
    def joined(self) -> set[str]:
        """The nodes that have joined according to this node's log, over all starts."""
        return {line.split("joined: ")[1].split()[0] for line in self.log.splitlines() if "joined: " in line}

    def start(self) -> None:
        """Start the node without waiting until it is ready."""
        with self._log.open("a") as log:
            self._process = self._lab.run(
                self.host,
                [sys.executable, "-m", "mesh", "up", "--json", "--id", self.name, "--cluster", self._cluster],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self.environ,
                text=True,
            )

    async def ready(self) -> dict[str, Any]:
        """Wait until the node is ready, and return its ready line."""
        stdout = self._running.stdout
        assert stdout is not None
        line = await asyncio.to_thread(stdout.readline)
        assert line, f"{self.name} did not get ready. It said:\n{self.log}"
        told: dict[str, Any] = json.loads(line)
        return told

    def kill(self) -> None:
        """Send SIGKILL, and wait until the process has ended."""
        self._running.kill()
        self._end()

    def stop(self) -> None:
        """Stop the node gracefully, if it runs."""
        if self._process is not None:
            self._process.terminate()
            self._end()

    def _end(self) -> None:
        process = self._running
        process.wait(LIMIT)
        assert process.stdout is not None
        process.stdout.close()
        self._process = None

    @property
    def _running(self) -> "subprocess.Popen[str]":
        assert self._process is not None, f"node {self.name} does not run"
        return self._process

    def connect(self) -> Client:
        return mesh.connect(self.name, environ=self.environ)

    async def ls(self) -> dict[int, dict[str, Any]]:
        """Return the other nodes as this one sees them, by host."""
        async with self.connect() as m:
            rows = (await m.call("ls"))["nodes"]
        return {int(row["name"][1:]): row for row in rows if row["name"] != self.name}


class Lan:
    """The machines of a LAN by number, from 1."""

    def __init__(self, lab: NetLab, nodes: Mapping[int, LanNode]) -> None:
        self.lab = lab
        self.nodes = nodes

    async def start(self, *hosts: int) -> None:
        """Start them at the same time, and wait until each is ready."""
        for host in hosts:
            self.nodes[host].start()
        await asyncio.gather(*(self.nodes[host].ready() for host in hosts))

    async def becomes(self, states: Mapping[int, str], *, at: int) -> None:
        """Wait until the node `at` sees exactly these others, in these states."""
        seen: dict[int, str] = {}

        async def is_so() -> bool:
            nonlocal seen
            seen = {host: row["state"] for host, row in (await self.nodes[at].ls()).items()}
            return seen == states

        try:
            await eventually(is_so)
        except AssertionError:
            logs = "\n".join(f"--- {node.name}\n{node.log}" for node in self.nodes.values())
            raise AssertionError(f"n{at} sees {seen}, not {states}\n{logs}") from None

    async def up_for(self, seconds: float) -> None:
        """Wait until each node has run for `seconds`."""
        for node in self.nodes.values():
            async with node.connect() as m:

                async def is_so(m: Client = m) -> bool:
                    return bool((await m.call("info"))["uptime"] >= seconds)

                await eventually(is_so)

    async def all_alive(self) -> None:
        """Wait until each node sees all others alive."""
        for host in self.nodes:
            await self.becomes({other: "alive" for other in self.nodes if other != host}, at=host)

    async def all_hear_all(self) -> None:
        """Check that a message published at any node arrives at every node."""
        mark = secrets.token_hex(4)
        async with AsyncExitStack() as stack:
            clients = {n: await stack.enter_async_context(node.connect()) for n, node in self.nodes.items()}
            ears = [
                await stack.enter_async_context(client.subscribe(f"{mark}/{sender}"))
                for client in clients.values()
                for sender in clients
            ]
            for sender, client in clients.items():
                await client.publish(f"{mark}/{sender}", mark)
            async with asyncio.timeout(LIMIT):
                for ear in ears:
                    assert (await anext(aiter(ear))).content == mark.encode()


@asynccontextmanager
async def lan_of(hosts: int, dead: int = 0, *, switch: bool = False) -> AsyncIterator[Lan]:
    """Create machines on a switch, with the same keys and without running nodes.

    In the end no node may have logged a traceback.
    """
    require()
    with _machines(hosts, dead, switch) as lan:
        yield lan
    for node in lan.nodes.values():
        assert "Traceback" not in node.log, node.log


@contextmanager
def _machines(hosts: int, dead: int, switch: bool) -> Iterator[Lan]:
    cluster = f"lan-{secrets.token_hex(4)}"
    with ExitStack() as stack:
        states = {host: stack.enter_context(state_directory()) for host in range(1, hosts + 1)}
        lab = stack.enter_context(NetLab(hosts, dead, switch=switch))
        nodes = {host: LanNode(lab, host, state, cluster) for host, state in states.items()}
        token = token_of(new_mesh(states[1], cluster), "node", expires=0)
        for host, state in states.items():
            if host > 1:
                join(state, token, "")
            stack.callback(nodes[host].stop)
        yield Lan(lab, nodes)


eventually = waiting.eventually
