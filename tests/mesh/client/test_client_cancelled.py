"""A call that is cancelled at any step leaves nothing behind, and its client continues."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

import mesh
import mesh.testing
from mesh.client.client import Client
from mesh.client.core.intake import INBOX
from mesh.errors import NoHandlers
from mesh.wire.commands import Unsubscribe
from tests.mesh.meshes import passing

STEPS = 40  # turns of the loop that each call needs at most


async def subscribed(m: Client) -> None:
    async with m.subscribe("k"):
        pass


async def several(m: Client) -> None:
    async with m.subscribe("k", "l"):
        pass


async def letters(m: Client) -> None:
    async with m.inbox():
        pass


async def served(m: Client) -> None:
    async with m.serve("echo"):
        pass


async def gathered(m: Client) -> None:
    async with m.gather("echo", b"x", timeout=60.0) as answers:
        async for _ in answers:
            pass


async def looked(m: Client) -> None:
    looking = m.registrations("echo")
    try:
        await anext(looking)
    finally:
        await looking.aclose()


VERBS: dict[str, Callable[[Client], Awaitable[Any]]] = {
    "publish": lambda m: m.publish("k", b"x"),
    "publish, persistent": lambda m: m.publish("k", b"x", persistent=True),
    "publish_many": lambda m: m.publish_many("k", [b"x"] * 10),
    "send": lambda m: m.send("client/nobody", b"x", force_queuing=True),
    "flush": lambda m: m.flush(),
    "get": lambda m: m.get("k"),
    "erase": lambda m: m.erase("k"),
    "subscribe": subscribed,
    "several": several,
    "inbox": letters,
    "info": lambda m: m.info(),
    "request": lambda m: m.request("echo", b"x", timeout=60.0),
    "request, nobody": lambda m: unheard(m.request("nobody", b"x")),
    "send to an address": lambda m: m.send("echo", b"x"),
    "serve": served,
    "gather": gathered,
    "registrations": looked,
}


async def unheard(work: Awaitable[Any]) -> None:
    with suppress(NoHandlers):
        await work


async def given_up(work: Coroutine[Any, Any, Any], steps: int) -> bool:
    """Cancel `work` after so many turns of the loop, and return whether it was done before."""
    task = asyncio.ensure_future(work)
    for _ in range(steps):
        await asyncio.sleep(0)
    is_done = task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return is_done


async def cancelled_after_each_step(m: Client, name: str, then: Callable[[], Awaitable[None]]) -> int:
    """Cancel a call after each number of steps, and return how often it was done before."""
    core, done = m._core, 0
    for steps in range(STEPS):

        async def work() -> None:
            await VERBS[name](m)

        done += await given_up(work(), steps)
        await then()
        verdicts, publisher = core.publisher.verdicts, core.publisher
        assert not verdicts._first and not verdicts._last, f"after {steps} steps somebody waits"
        assert not publisher._quiet, f"after {steps} steps somebody waits for any answer"
        asked = [pending.command for pending in core.calls._pending.values()]
        left_behind = [it for it in asked if not isinstance(it, Unsubscribe) and getattr(it, "credit", True)]
        assert not left_behind, f"after {steps} steps: {asked}"
        assert not len(core.requests) and not any(core.requests._buckets.values()), f"after {steps} steps"
        assert not len(core.services) and not len(core.watches), f"after {steps} steps"
        left = set(core.subscriptions._all) - {INBOX}
        assert not left, f"after {steps} steps a subscription is there"
    return done


async def echo(m: Client) -> None:
    async with m.serve("echo") as service:
        async for request in service:
            await request.reply(request.content)


@asynccontextmanager
async def echoing(memory: mesh.testing.Mesh) -> AsyncIterator[None]:
    """Serve the address by another client."""
    async with memory.connect() as other:
        task = asyncio.create_task(echo(other))
        await memory.pass_time(0.1)
        yield
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("name", VERBS)
@pytest.mark.filterwarnings("error")
def test_a_verb_that_is_cancelled_at_any_await_leaves_nothing_behind(name: str) -> None:
    async def scenario() -> None:
        async with mesh.testing.Mesh() as memory, memory.connect() as m, echoing(memory):

            async def quiet() -> None:
                await m.flush()
                await memory.pass_time(0.1)

            done = await cancelled_after_each_step(m, name, quiet)
            assert 0 < done < STEPS, "some were cancelled, and some were done"
            assert (await m.publish("k", b"last")).ok
            assert [message.content for message in await m.get("k")] == [b"last"]

    asyncio.run(scenario())
    gc.collect()


@pytest.mark.parametrize("name", [name for name in VERBS if name not in ("inbox", "request, nobody")])
@pytest.mark.filterwarnings("error")
def test_nor_does_it_while_its_node_is_away_and_what_was_published_arrives(name: str) -> None:
    async def scenario() -> None:
        async with mesh.testing.Mesh() as memory, memory.connect() as m:
            memory.kill("a")
            await memory.pass_time(10.0)
            await m.publish_oneway("first", b"x")
            assert await cancelled_after_each_step(m, name, lambda: asyncio.sleep(0)) == 0, "nobody answers"
            memory.start("a")
            await passing(memory, m.flush())
            assert [message.content for message in await m.get("first")] == [b"x"]

    asyncio.run(scenario())
    gc.collect()
