"""Locks of running nodes: their holders and homes are killed, paused and restarted, and clients move."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import mesh
from tests.mesh.running import RunningNode, running

HOLDER = """
import sys, time
from mesh import sync

with sync.connect(sys.argv[1]) as m, m.lock("l", lease=5) as lock:
    print(lock.token, flush=True)
    while not lock.lost:
        time.sleep(0.05)
    print("lost", flush=True)
"""


@contextmanager
def holder(node: RunningNode) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run a program that holds the lock `l`, and yield it with its token."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, node.name], env=node.environ, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


@pytest.mark.slow
def test_the_lock_of_a_killed_client_goes_to_the_next_with_a_higher_token() -> None:
    with running("a") as a, running("b", beside=a) as b, mesh.sync.connect("b", environ=b.environ) as m:
        with holder(a) as (process, token):
            process.kill()
            with m.lock("l", lease=5) as lock:
                assert lock.token > token and not lock.lost


@pytest.mark.slow
def test_a_client_that_was_paused_longer_than_its_lease_sees_that_its_lock_is_lost() -> None:
    with running("a") as a, mesh.sync.connect("a", environ=a.environ) as m:
        with holder(a) as (process, token):
            os.kill(process.pid, signal.SIGSTOP)
            with m.lock("l", lease=5) as lock:
                assert lock.token > token
                os.kill(process.pid, signal.SIGCONT)
                assert process.stdout is not None and process.stdout.readline() == "lost\n"
                assert not lock.lost


@pytest.mark.slow
def test_a_lock_outlives_a_kill_of_its_home() -> None:
    async def scenario(a: RunningNode, b: RunningNode) -> None:
        async with mesh.connect("a", environ=a.environ) as joe, mesh.connect("b", environ=a.environ) as ann:
            async with joe.lock("l", lease=60) as lock:  # its home is a
                waiting = asyncio.ensure_future(ann.lock("l", lease=60).__aenter__())
                await asyncio.sleep(1)
                await asyncio.to_thread(a.kill)
                await asyncio.to_thread(a.start)
                with pytest.raises(mesh.LocalError, match="LOCK_HELD"):
                    async with joe.lock("l", wait=0):
                        pass
                assert not lock.lost and not waiting.done()
            after = await waiting
            assert after.token > lock.token
            await after.__aexit__(None, None, None)

    with running("a") as a, running("b", beside=a) as b:
        asyncio.run(scenario(a, b))


@pytest.mark.slow
def test_locks_and_places_move_with_two_clients() -> None:
    async def scenario(a: RunningNode, c: RunningNode) -> None:
        async with (
            mesh.connect("c", environ=c.environ) as maker,
            mesh.connect("a", "b", environ=a.environ, client="joe") as joe,
            mesh.connect("a", "b", environ=a.environ, client="ann") as ann,
        ):
            async with maker.lock("l"):
                pass  # the home is c
            async with joe.lock("l", lease=60) as lock:
                waiting = asyncio.ensure_future(ann.lock("l", lease=60).__aenter__())
                await asyncio.sleep(1)
                await asyncio.to_thread(a.kill)
                await asyncio.gather(joe.ping(), ann.ping())
                assert not lock.lost and not waiting.done()
            after = await waiting
            assert after.token > lock.token
            await after.__aexit__(None, None, None)

    with running("a") as a, running("b", beside=a), running("c", beside=a) as c:
        asyncio.run(scenario(a, c))
