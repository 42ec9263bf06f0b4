"""Rows 35, 38 and 40 to 42: too many clients or connections, and too little memory."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

import mesh
from mesh.client.client import Client
from mesh.client.events import Event
from mesh.errors import MeshError
from tests.mesh.meshes import eventually
from tests.mesh.running import LIMIT, RunningNode, running, until
from tests.pages import ROOT
from tools.lab_parts.inside import limited

CROWD = 200  # clients
IDLE = 500  # connections without a HELLO
DESCRIPTORS = 96
SPIN = 1.0  # s of CPU, a fifth of a loop without a pause
MIB = 1 << 20


@pytest.fixture
def node() -> Iterator[RunningNode]:
    with running("heron") as heron:
        yield heron


def test_row_35_two_hundred_clients_are_back_soon_after_their_node_is(node: RunningNode) -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(mesh.connect("heron", environ=node.environ, timeout=LIMIT))
                for _ in range(CROWD)
            ]
            ears = [
                await stack.enter_async_context(client.subscribe(f"to/{n}"))
                for n, client in enumerate(clients)
            ]
            node.kill()
            await asyncio.to_thread(node.start)
            async with asyncio.timeout(LIMIT):
                said = await asyncio.gather(
                    *(
                        client.publish(f"to/{n}", b"%d" % n, persistent=True)
                        for n, client in enumerate(clients)
                    )
                )
                heard = await asyncio.gather(*(anext(ear) for ear in ears))
            assert {published.state for published in said} == {"OK"}
            assert [message.content for message in heard] == [b"%d" % n for n in range(CROWD)]
            assert (await clients[0].call("info"))["metrics"]["connected_sessions"] == CROWD

    asyncio.run(scenario())


def test_row_38_a_subscriber_that_stands_still_costs_the_others_nothing_and_is_told_what_it_missed(
    node: RunningNode, tmp_path: Path
) -> None:
    count, size = 3000, 50_000  # 150 MB: more than any backlog

    async def scenario() -> None:
        async with mesh.connect("heron", environ=node.environ, timeout=LIMIT) as publisher:
            with subscriber(node, tmp_path / "stands") as stands, subscriber(node, tmp_path / "runs") as runs:
                stands.send_signal(signal.SIGSTOP)
                await publisher.publish_many("flood", (b"." * size for _ in range(count)))
                stands.send_signal(signal.SIGCONT)
                ends = 0
                while stands.poll() is None or runs.poll() is None:  # an end may be dropped, too
                    ends += 1
                    await publisher.publish("flood", b"end %d" % ends)
                    await asyncio.sleep(0.1)
                running, stood = (json.loads(each.stdout.read()) for each in (runs, stands) if each.stdout)
        assert running == {"came": count, "missed": 0, "end": 1}
        assert stood["missed"] > 0
        assert stood["came"] + stood["missed"] == count + stood["end"] - 1

    asyncio.run(scenario())


@pytest.mark.smoke
def test_row_38_who_stands_still_for_too_long_is_cut_off_by_name_and_may_come_back(tmp_path: Path) -> None:
    config = tmp_path / "mesh.toml"
    config.write_text("[limits]\nslow_consumer = 1\n")

    async def scenario(node: RunningNode) -> None:
        async with (
            mesh.connect("heron", environ=node.environ) as publisher,
            mesh.connect("heron", environ=node.environ, client="joe", session=1) as joe,
            joe.subscribe("flood", overflow="drop_newest", max_queue=5) as subscription,
            joe.subscribe("still here") as other,
        ):
            events = joe.events()
            told = asyncio.create_task(_first(events, "refused"))
            async with asyncio.timeout(LIMIT):
                while not told.done():
                    await publisher.publish("flood", b"")
                    await asyncio.sleep(0.01)
                assert "[SLOW_CONSUMER]" in told.result() and "/client/joe/session/1" in told.result()
                await publisher.publish("still here", b"yes", persistent=True)
                assert (await anext(other)).content == b"yes", "it is back by itself"
                await publisher.publish("flood", b"last")
                async for message in subscription:
                    if message.content == b"last":
                        break
            assert subscription.dropped > 0

    with running("heron", options=("--config", str(config))) as node:
        asyncio.run(scenario(node))
        assert "slow consumer" in node.mesh("events", "--url", "heron").stdout


async def _first(events: AsyncIterator[Event], kind: str) -> str:
    return await anext(event.text async for event in events if event.kind == kind)


# Counts messages until an end arrives, and the messages that it is notified of as lost.
SUBSCRIBER = """
import asyncio, json, pathlib, sys, mesh
async def main():
    came = missed = 0
    async with mesh.connect("heron") as m, m.subscribe("flood") as subscription:
        pathlib.Path(sys.argv[1]).touch()
        async for batch in subscription.batches():
            missed += batch.gap
            for content in batch.contents():
                if content.startswith(b"end"):
                    print(json.dumps({"came": came, "missed": missed, "end": int(content[4:])}))
                    return
                came += 1
asyncio.run(main())
"""


@contextmanager
def subscriber(node: RunningNode, ready: Path) -> "Iterator[subprocess.Popen[str]]":
    environ = {**node.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", SUBSCRIBER, str(ready)], env=environ, stdout=subprocess.PIPE, text=True
    )
    try:
        until(ready.exists)
        yield process
    finally:
        process.kill()
        process.wait(LIMIT)
        assert process.stdout is not None
        process.stdout.close()


def test_row_40_connections_that_say_nothing_are_closed_and_disturb_nobody(node: RunningNode) -> None:
    async def scenario() -> None:
        async with mesh.connect("heron", environ=node.environ) as client:
            before = open_files(node)
            with silent(node, IDLE) as connections:
                await eventually(lambda: open_files(node) >= before + IDLE)
                await call(client, 20)
                await eventually(lambda: all(is_closed(each) for each in connections))
            await eventually(lambda: open_files(node) <= before + 10)

    asyncio.run(scenario())


def test_row_41_without_descriptors_a_node_keeps_whom_it_has_and_recovers() -> None:
    async def scenario(node: RunningNode) -> None:
        async with mesh.connect("heron", environ=node.environ) as client:
            with silent(node, 2 * DESCRIPTORS) as connections:
                await eventually(lambda: any(map(is_closed, connections)))
                await call(client, 20)
                await client.publish("k", b"while it has none", persistent=True)
            await eventually(lambda: can_come(node))
            assert [m.content for m in await client.get("k")] == [b"while it has none"]

    with running("heron", inside=limited(descriptors=DESCRIPTORS)) as node:
        asyncio.run(scenario(node))


def test_row_41_without_descriptors_a_node_does_not_turn_in_circles() -> None:
    async def scenario(node: RunningNode) -> None:
        before = processor_time(node)
        with silent(node, 2 * DESCRIPTORS) as connections:
            await eventually(lambda: all(map(is_closed, connections)))
        assert processor_time(node) - before < SPIN

    with running("heron", inside=limited(descriptors=DESCRIPTORS)) as node:
        asyncio.run(scenario(node))


def processor_time(node: RunningNode) -> float:
    """Return the seconds of CPU that all threads have used. Waiting for a processor does not count."""
    times = psutil.Process(node.pid).cpu_times()
    return float(times.user + times.system)


def test_row_42_a_node_that_gets_no_more_memory_ends_at_once_and_keeps_what_it_has_answered() -> None:
    room, size, count = 30 * MIB, 500_000, 120

    async def scenario(node: RunningNode) -> None:
        answered: set[int] = set()

        async def publish() -> None:
            for number in range(count):
                await client.publish(f"k/{number}", b"%d" % number + b"." * size, persistent=True)
                answered.add(number)

        async with mesh.connect("heron", environ=node.environ, timeout=LIMIT) as client:
            limit_memory(node, psutil.Process(node.pid).memory_info().vms + room)
            publishing = asyncio.create_task(publish())
            await eventually(lambda: not node.is_running)
            assert node.wait() != 0 and 0 < len(answered) < count
            assert "NO_MEMORY" in node.log
            await asyncio.to_thread(node.start)
            await publishing
            for number in range(count):
                [message] = await client.get(f"k/{number}")
                assert message.content.startswith(b"%d." % number)

    with running("heron") as node:
        asyncio.run(scenario(node))


def limit_memory(node: RunningNode, most: int) -> None:
    subprocess.run(["prlimit", "--pid", str(node.pid), f"--as={most}"], check=True)


def open_files(node: RunningNode) -> int:
    return len(os.listdir(f"/proc/{node.pid}/fd"))


@contextmanager
def silent(node: RunningNode, count: int) -> Iterator[list[socket.socket]]:
    """Connections that never send anything."""
    host, _, port = node.tcp.removeprefix("tcp://").rpartition(":")
    with ExitStack() as stack:
        connections = [stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(count)]
        for each in connections:
            each.setblocking(False)
        yield connections


def is_closed(connection: socket.socket) -> bool:
    """Return whether the other end has closed the connection. What it sent before is discarded."""
    try:
        while connection.recv(1000):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


async def call(client: Client, count: int) -> None:
    for _ in range(count):
        await client.call("info")


async def can_come(node: RunningNode) -> bool:
    """Return whether a client can connect over TCP, which needs a new descriptor."""
    try:
        async with mesh.connect(node.tcp, environ=node.environ, timeout=2.0):
            return True
    except MeshError:
        return False
