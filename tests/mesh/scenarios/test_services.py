"""Services on real nodes that are killed, restarted in place, or stopped while they are asked."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import textwrap
from contextlib import ExitStack

import pytest

import mesh
from mesh.client.client import Client
from tests.mesh.meshes import eventually
from tests.mesh.running import LIMIT, RunningNode, running

pytestmark = pytest.mark.slow


def connect(node: RunningNode) -> Client:
    return mesh.connect(node.name, environ=node.environ, timeout=LIMIT)


async def echo(m: Client, address: str, prefix: bytes = b"") -> None:
    async with m.serve(address) as requests:
        async for request in requests:
            await request.reply(prefix + request.content)


async def serving(m: Client, address: str, prefix: bytes = b"") -> asyncio.Task[None]:
    task = asyncio.ensure_future(echo(m, address, prefix))
    await eventually(lambda: is_served(m, address))
    return task


async def is_served(m: Client, address: str) -> bool:
    try:
        await m.request(address, b"?", timeout=2.0)
    except mesh.NoHandlers:
        return False
    except mesh.MeshError:
        return False
    return True


SERVER = """
import asyncio, sys, mesh
async def main():
    held = []
    async with mesh.connect(sys.argv[1], timeout=120) as m, m.serve("job", prefetch=8) as requests:
        print("serves", flush=True)
        async for request in requests:
            if request.content == b"sleep":
                held.append(request)  # it never replies
                print("sleeps", flush=True)
            else:
                await request.reply(request.content)
asyncio.run(main())
"""


async def program(node: RunningNode) -> asyncio.subprocess.Process:
    """Start a server in a process of its own, and wait until it serves."""
    made = await asyncio.create_subprocess_exec(
        sys.executable, "-c", textwrap.dedent(SERVER), node.name,
        stdout=asyncio.subprocess.PIPE, env={**os.environ, **node.environ},
    )  # fmt: skip
    await says(made, "serves")
    return made


async def says(program: asyncio.subprocess.Process, word: str) -> None:
    """Wait for a line with this word only."""
    assert program.stdout is not None
    assert (await asyncio.wait_for(program.stdout.readline(), LIMIT)).decode() == f"{word}\n"


@pytest.mark.smoke
def test_requests_of_a_handler_that_is_killed_fail_at_once() -> None:
    async def scenario() -> None:
        with running("a") as a, running("b", beside=a) as b:
            server = await program(a)
            async with connect(b) as m:
                assert (await m.request("job", b"1", timeout=LIMIT)).content == b"1"
                slow = [asyncio.ensure_future(m.request("job", b"sleep", timeout=LIMIT)) for _ in range(5)]
                for _ in slow:
                    await says(server, "sleeps")
                assert not any(task.done() for task in slow)
                server.send_signal(signal.SIGKILL)
                done = await asyncio.gather(*slow, return_exceptions=True)
                assert [type(error) for error in done] == [mesh.HandlerLost] * 5
                await server.wait()
                with pytest.raises(mesh.NoHandlers):
                    await m.request("job", b"2", timeout=LIMIT)

    asyncio.run(scenario())


def test_E5_E27_a_node_that_is_killed_and_starts_again_at_its_place_is_another_one() -> None:
    async def scenario() -> None:
        with ExitStack() as stack:
            a = stack.enter_context(running("a"))
            b = stack.enter_context(running("b", beside=a))
            async with connect(b) as m:
                first = await program(a)
                assert (await m.request("job", b"1", timeout=LIMIT)).content == b"1"
                open_one = asyncio.ensure_future(m.request("job", b"sleep", timeout=LIMIT))
                await says(first, "sleeps")
                first.kill()
                await first.wait()
                a.kill()
                a.start()
                with pytest.raises(mesh.HandlerLost):
                    await open_one
                second = await program(a)

                async def is_there() -> bool:
                    try:
                        return (await m.request("job", b"again", timeout=2.0)).content == b"again"
                    except mesh.MeshError:
                        return False

                await eventually(is_there)
                second.kill()
                await second.wait()

    asyncio.run(scenario())


@pytest.mark.smoke
def test_E10_after_an_address_that_fails_the_next_send_goes_through() -> None:
    async def scenario() -> None:
        with running("a") as a, running("b", beside=a) as b:
            async with connect(a) as server, connect(b) as m:
                with pytest.raises(mesh.NoHandlers):
                    await m.request("later", b"1", timeout=LIMIT)
                task = await serving(server, "later")
                assert (await m.request("later", b"2", timeout=LIMIT)).content == b"2"
                task.cancel()
                await asyncio.wait([task])

    asyncio.run(scenario())


def test_E13_two_that_stop_at_once_answer_each_other_before() -> None:
    async def scenario() -> None:
        with running("a") as a, running("b", beside=a) as b:
            async with connect(a) as one, connect(b) as other:
                tasks = [await serving(one, "at/a", b"a"), await serving(other, "at/b", b"b")]
                both = await asyncio.gather(
                    one.request("at/b", b"", timeout=LIMIT), other.request("at/a", b"", timeout=LIMIT)
                )
                assert [reply.content for reply in both] == [b"b", b"a"]
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)

    asyncio.run(scenario())
