"""E11, E12, E16, E21, E22, E24: what nodes on real sockets send each other about the servers of an address.

A lookup of Heronry is a WATCH: the node names an address to all nodes, which report its servers (SERVING) and
each later change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from contextlib import AsyncExitStack
from typing import TypeVar

import psutil
import pytest

import mesh
from mesh.client.client import Client
from mesh.shell.node import NodeRuntime
from mesh.wire.command import Command
from mesh.wire.commands import Ping, Publish, Respond, Sends, Serving, Watch
from mesh.wire.frames import read
from tests.mesh.meshes import LIMIT, Mesh, eventually, mesh_of
from tests.mesh.scenarios.serving import Server, files_of, knows
from tests.mesh.scenarios.topology import Processes, loop_of, processes_of

C = TypeVar("C", bound=Command)
NAME = ("address", "x")
SILENCE = 3.0  # s: a connection that is silent for longer is lost
IDLE = 2 * SILENCE + 1.0
TIMING: dict[str, object] = {"timing.ping": 0.25, "timing.silence": SILENCE}


class Wire:
    """The commands that reach a node, with their connections. Reports of servers can be held back."""

    def __init__(self, node: NodeRuntime) -> None:
        self.commands: list[tuple[Hashable, Command]] = []
        self._node, self._receive = node, node.core.receive
        self._held: list[tuple[Hashable, list[bytes]]] = []
        self._is_holding = False
        node.core.receive = self._received  # type: ignore[method-assign]

    def of(self, kind: type[C]) -> list[C]:
        return [command for _, command in self.commands if isinstance(command, kind)]

    def beside(self, kind: type[Command]) -> dict[Hashable, list[Command]]:
        """Return all commands of each connection over which commands of this kind have arrived."""
        found: dict[Hashable, list[Command]] = {
            key: [] for key, each in self.commands if isinstance(each, kind)
        }
        for key, command in self.commands:
            if key in found:
                found[key].append(command)
        return found

    def lookups(self) -> int:
        """Return how often other nodes have named the address."""
        return sum(watch.add.count(NAME) for watch in self.of(Watch))

    def hold(self) -> None:
        """Hold the reports of servers back from now on."""
        self._is_holding = True

    def release(self) -> None:
        self._is_holding, held = False, self._held
        for key, frames in held:
            self._node.driver.received(key, frames)

    def _received(self, key: Hashable, frames: list[bytes], now: float, wall: int) -> None:
        command = read(frames)[0]
        if self._is_holding and isinstance(command, Serving):
            self._held.append((key, frames))
            return
        self.commands.append((key, command))
        self._receive(key, frames, now, wall)


def at(m: Mesh, name: str) -> Client:
    return m.connect(name, timeout=LIMIT)


def test_E11_a_connection_without_messages_is_kept_by_pings() -> None:
    async def scenario() -> None:
        async with (
            mesh_of("a", "b", settings=TIMING) as m,
            at(m, "a") as ann,
            at(m, "b") as bob,
            Server(bob, "x") as server,
        ):
            here, there = (Wire(node) for node in m.nodes.values())
            assert (await ann.request("x", b"1")).content == b"re 1"
            clock = m.nodes["a"].core.parts.context.clock
            begun = clock.now
            await eventually(lambda: clock.now >= begun + IDLE)
            assert (await ann.request("x", b"2")).content == b"re 2"
            assert server.contents == [b"1", b"2"]
            for wire, kind in ((there, Sends), (here, Respond)):
                [commands] = wire.beside(kind).values()
                first, last = (n for n, each in enumerate(commands) if isinstance(each, kind))
                assert any(isinstance(each, Ping) for each in commands[first:last])

    asyncio.run(scenario())


def test_E12_a_closed_node_leaves_no_connection() -> None:
    async def scenario() -> None:
        async with loop_of(files_of("a", "b")) as m, at(m, "b") as bob:
            async with at(m, "a") as ann, Server(ann, "x"):
                assert (await bob.request("x", b"1")).content == b"re 1"
                assert connections(m.nodes["a"]) > 0 and m.metric("b", "data_links") == 1
                node = m.nodes["a"]
                await m.stop("a")
                await eventually(lambda: connections(node) == 0)
                await eventually(lambda: m.metric("b", "data_links") == m.metric("b", "control_links") == 0)
                await knows(bob, "x")
                with pytest.raises(mesh.NoHandlers):
                    await bob.request("x", b"2")

    asyncio.run(scenario())


def connections(node: NodeRuntime) -> int:
    """Return the number of open TCP connections with the node's address in this process."""
    port = int(node.described()["tcp"][0].rpartition(":")[2])
    found = psutil.Process().net_connections("tcp")
    return sum(port in (it.laddr.port, it.raddr.port) for it in found if it.status == psutil.CONN_ESTABLISHED)


def test_E16_a_node_receives_news_only_of_addresses_that_it_has_used() -> None:
    async def scenario() -> None:
        async with mesh_of("a", "b") as m, at(m, "a") as ann, at(m, "b") as bob, Server(ann, "x"):
            assert (await bob.send("x", b"1")).ok
            wire = Wire(m.nodes["b"])
            for n in range(10):
                async with Server(ann, f"other/{n}"):
                    pass
            async with Server(ann, "x"):
                await knows(bob, "x", a=2)
            rows = [(row.kind, row.name) for serving in wire.of(Serving) for row in serving.rows]
            assert set(rows) == {NAME}

    asyncio.run(scenario())


def test_E21_two_sends_before_the_answer_make_one_lookup_and_keep_their_order() -> None:
    async def scenario() -> None:
        async with (
            mesh_of("a", "b") as m,
            at(m, "a") as ann,
            at(m, "b") as bob,
            at(m, "b") as eve,
            Server(ann, "x") as server,
        ):
            here, there = Wire(m.nodes["b"]), Wire(m.nodes["a"])
            here.hold()
            first = asyncio.create_task(bob.send("x", b"p1"))
            await eventually(lambda: len(here.of(Publish)) == 1)
            second = asyncio.create_task(eve.send("x", b"p2"))
            await eventually(lambda: len(here.of(Publish)) == 2 and there.lookups() > 0)
            within = asyncio.create_task(after(first, eve))
            here.release()
            await asyncio.gather(first, second, within)
            await server.received(3)
            assert server.contents == [b"p1", b"p2", b"within p1"]
            assert there.lookups() == 1

    asyncio.run(scenario())


async def after(first: asyncio.Task[mesh.Published], client: Client) -> None:
    await asyncio.wait([first])
    await client.send("x", b"within p1")


def test_E22_a_change_of_servers_needs_no_new_lookup() -> None:
    """A lookup lasts for 60 s after its last use, so an address without servers needs no new one either."""

    async def scenario() -> None:
        async with (
            mesh_of("a", "b", "c") as m,
            at(m, "a") as ann,
            at(m, "b") as bob,
            at(m, "c") as asker,
            Server(ann, "x") as one,
        ):
            wires = [Wire(m.nodes[name]) for name in "ab"]
            await sixteen(asker, b"to one", one)
            async with Server(bob, "x") as other:
                await one.leave()
                await knows(asker, "x", b=1)
                await sixteen(asker, b"to other", other)
            await knows(asker, "x")
            with pytest.raises(mesh.NoHandlers):
                await asker.send("x", b"to none")
            async with Server(ann, "x") as again:
                await knows(asker, "x", a=1)
                await asker.send("x", b"to one again")
                await again.received(1)
            assert (one.contents, other.contents) == ([b"to one"] * 16, [b"to other"] * 16)
            assert again.contents == [b"to one again"]
            assert [wire.lookups() for wire in wires] == [1, 1]

    asyncio.run(scenario())


async def sixteen(client: Client, content: bytes, server: Server) -> None:
    for _ in range(16):
        await client.send("x", content)
    await server.received(16)


def test_E24_sixteen_sends_that_wait_for_a_lookup_fail_alike_and_the_next_one_is_new() -> None:
    """A lookup fails if a node does not answer within 2 s. Node a is suspended for that time."""

    async def scenario(c: Processes) -> None:
        async with (
            c.connect("a", timeout=LIMIT) as ann,
            AsyncExitStack() as stack,
            Server(ann, "x") as server,
        ):
            clients = [c.connect("b", timeout=LIMIT) for _ in range(16)]
            askers = [await stack.enter_async_context(client) for client in clients]
            bob = askers[0]
            c["a"].pause()
            try:
                await all_fail_alike(askers, "x")
            finally:
                c["a"].resume()
            await knows(bob, "x", a=1)
            assert (await bob.send("x", b"late")).ok
            await eventually(lambda: server.contents == [b"late"])
            # An address without servers is no failure, and is not remembered either.
            await all_fail_alike(askers, "y")
            async with bob.gather("y", b"all", timeout=LIMIT) as answers:
                assert [answer async for answer in answers] == []
            async with Server(ann, "y") as new:
                await knows(bob, "y", a=1)
                assert (await bob.send("y", b"new")).ok
                await eventually(lambda: new.contents == [b"new"])

    with processes_of(files_of("a", "b")) as c:
        asyncio.run(scenario(c))


async def all_fail_alike(clients: list[Client], address: str) -> None:
    failed = await asyncio.gather(*(m.send(address, b"?") for m in clients), return_exceptions=True)
    assert {type(error) for error in failed} == {mesh.NoHandlers}
    assert len({str(error) for error in failed}) == 1
