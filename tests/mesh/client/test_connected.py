"""How a client connects, reconnects and closes, on a wire and at real nodes."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from unittest.mock import patch

import pytest
from msgspec.structs import replace

import mesh
from mesh import Client
from mesh.client import connected
from mesh.config import load
from mesh.errors import Closed, NodeNotFound, WrongLoop
from mesh.shell.node import NodeRuntime
from mesh.shell.starting import start
from mesh.wire import commands as c
from mesh.wire.frames import write
from tests.mesh.client.wired import HeardWire, Wired, scenario, turns, wired
from tests.mesh.meshes import LIMIT, eventually, mesh_of
from tests.mesh.running import environment, state_directory
from tools.costing.wire import WELCOME

# --- on a wire ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_a_client_tells_a_node_of_version_2_what_it_does_not_know_and_goes_on(version: int) -> None:
    class Versed(HeardWire):
        welcome = replace(WELCOME, version=version)

    async def told() -> None:
        async with wired(Versed) as it:
            wire, line = it.wire, it.client._core.line
            for number in range(100):
                wire.hear(wire.key, [b"\x92\x63" + bytes((number,)), b"an envelope"])
            unknown = [command for command in wire.said if isinstance(command, c.Unknown)]
            assert unknown == ([c.Unknown(99, number) for number in range(10)] if version == 2 else [])
            assert line.is_up is (version == 2)
            wire.hear(wire.key, write(c.Unknown(41, 7)))
            assert line.is_up is (version == 2)

    asyncio.run(told())


@scenario
async def test_a_verb_that_is_given_up_while_it_waits_is_not_asked_again(it: Wired) -> None:
    asking = asyncio.ensure_future(it.client.ping())
    await turns()
    assert [type(command) for command in it.wire.said].count(c.Call) == 1
    asking.cancel()
    await turns()
    await it.lose()
    await turns()
    assert [type(command) for command in it.wire.said].count(c.Call) == 1


@scenario
async def test_a_client_tells_what_befell_it_from_the_call_on(it: Wired) -> None:
    events = it.client.events()
    await it.lose()
    await it.client.close(drain=False)
    assert [(event.kind, event.text) async for event in events] == [
        ("disconnected", "heron: the node closed the connection"),
        ("connected", WELCOME.session),
    ]
    assert [event async for event in it.client.events()] == []


@scenario
async def test_where_another_loop_runs_nothing_is_begun_and_nothing_left_behind(it: Wired) -> None:
    for verb in (lambda: it.client.post("k", b"1"), it.client.events):
        with pytest.raises(WrongLoop):
            await asyncio.to_thread(verb)
    it.client.post("k", b"2")
    await turns()
    assert [envelope.contents() for envelope in it.sent] == [[b"2"]]


# --- connecting, closing and reconnecting -------------------------------------------------------------


def test_a_client_that_could_not_be_opened_may_be_tried_again() -> None:
    async def told() -> None:
        client = mesh.Client("nobody", client="joe", timeout=0.05)
        with pytest.raises(NodeNotFound):
            await client.__aenter__()
        with pytest.raises(Closed):
            await client.publish("k", b"1")
        client._way.address, client._timeout = "ipc:///run/heron", LIMIT
        async with wired(client=client) as it:
            await turns()  # remains of the first try would end it now
            it.client.post("k", b"1")
            await turns()
            assert len(it.sent) == 1
        with pytest.raises(Closed, match="opened before"):
            await client.__aenter__()

    asyncio.run(told())


def test_a_client_that_is_closed_while_it_opens_says_so_at_once() -> None:
    async def told() -> None:
        client = mesh.Client("nobody", client="joe", timeout=LIMIT)
        opening = asyncio.ensure_future(client.__aenter__())
        await eventually(lambda: client._shell.is_open)
        await client.close()
        with pytest.raises(Closed):
            await opening

    asyncio.run(asyncio.wait_for(told(), LIMIT))


async def given_up(opening: asyncio.Future[Client]) -> None:
    opening.cancel()
    await asyncio.wait([opening])
    if not opening.cancelled():
        await opening.result().close()


def test_trial_2_connects_that_are_cancelled_leave_no_session() -> None:
    async def scenario() -> None:
        # A node keeps the session of a lost connection for an hour. These clients say goodbye.
        async with mesh_of("a", settings={"limits.linger": 3600.0}) as made:
            sessions = made.nodes["a"].core.parts.clients.sessions
            for turns in range(60):  # each is cancelled at another point of the handshake
                opening = asyncio.ensure_future(made.connect("a").__aenter__())
                for _ in range(turns):
                    await asyncio.sleep(0)
                await given_up(opening)
            opening = asyncio.ensure_future(made.connect("a").__aenter__())
            while not sessions:  # the last connect is cancelled once the node has its session
                await asyncio.sleep(0)
            await given_up(opening)
            await eventually(lambda: not sessions)

    asyncio.run(asyncio.wait_for(scenario(), LIMIT))


def test_trial_2_a_node_that_was_not_yet_reached_is_not_waited_for() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as made:
            with socket.create_server(("127.0.0.1", 0)) as silent:
                address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
                opening = asyncio.ensure_future(made.connect(address).__aenter__())
                await asyncio.sleep(0)
                opening.cancel()
                await turns()
                assert opening.cancelled(), "nothing of it waits for the node"

    asyncio.run(asyncio.wait_for(scenario(), LIMIT))


@asynccontextmanager
async def node(environ: dict[str, str], bind: str = "tcp://127.0.0.1:0") -> AsyncIterator[NodeRuntime]:
    given = {"node.id": "a", "node.cluster": "patience", "node.bind": [bind], "discovery.mdns": False}
    made = await start(load(None, {}, given), environ)
    try:
        yield made
    finally:
        await made.close()


@pytest.mark.parametrize("how", ["by name", "the only one", "by address"])
def test_trial_B6_a_timeout_that_is_given_is_waited_for_a_node_that_is_started_anew(how: str) -> None:
    async def scenario() -> None:
        with state_directory() as state:
            environ = environment(state)
            async with node(environ) as a:
                tcp = a.described()["tcp"][0]
            address = {"by name": "a", "the only one": None, "by address": tcp}[how]
            client = mesh.connect(address, environ=environ, timeout=LIMIT)
            entering = asyncio.ensure_future(client.__aenter__())
            await turns()
            await turns()
            assert not entering.done(), "it has looked, and found nobody"
            async with node(environ, tcp):
                await entering
                assert (await client.publish("k", b"v")).ok
                await client.close()

    asyncio.run(scenario())


def test_trial_B6_a_node_that_does_not_come_is_told_when_the_time_is_over() -> None:
    async def scenario() -> None:
        with state_directory() as state:
            with pytest.raises(NodeNotFound, match="mesh up"):
                async with mesh.connect("a", environ=environment(state), timeout=0.1):
                    pass

    asyncio.run(scenario())


def test_trial_B6_without_a_timeout_it_is_told_at_once_and_so_is_what_waiting_does_not_change() -> None:
    async def scenario() -> None:
        async with asyncio.timeout(LIMIT):
            async with mesh_of("a", "b") as m:
                with pytest.raises(NodeNotFound) as many:
                    async with mesh.connect(environ=m.environ, timeout=10 * LIMIT):
                        pass
                assert many.value.code == "MANY_NODES"
            with state_directory() as state, patch.object(connected, "TIMEOUT", 10 * LIMIT):
                with pytest.raises(NodeNotFound):
                    async with mesh.connect("a", environ=environment(state)):
                        pass

    asyncio.run(scenario())
