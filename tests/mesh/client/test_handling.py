"""`Client.run`: how the handlers of a client are run, cancelled and ended."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import threading
import types
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

import mesh
from mesh.client.client import Client
from mesh.client.handling import _cancelled_by
from mesh.errors import (
    BadArgument,
    BadKey,
    BadPattern,
    BadQuery,
    BadType,
    Closed,
    MeshError,
    SlowConsumer,
    WrongLoop,
)
from mesh.wire import commands as c
from tests.mesh.client.handlers import Background, left, number, used
from tests.mesh.client.wired import Wired, scenario, turns
from tests.mesh.envelopes import envelope
from tests.mesh.meshes import LIMIT, eventually, mesh_of

ROOT = Path(__file__).parents[3]


# --- the end of a run -----------------------------------------------------------------------------------


@scenario
async def test_it_can_be_cancelled_at_every_step_and_run_again(it: Wired) -> None:
    started: list[str] = []

    @it.client.on("a", "b")
    async def take(message: mesh.Message) -> None:
        started.append(message.key)
        await asyncio.sleep(60)

    @it.client.on("c", concurrency=2)
    async def other(message: mesh.Message) -> None: ...

    before = len(asyncio.all_tasks())
    for steps in range(8):
        task = asyncio.create_task(it.client.run())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await turns()
        assert not it.client._core.subscriptions._all and not it.client._handlers.are_running
        assert len(asyncio.all_tasks()) == before, "none of its own stays"
    async with Background(it):
        it.deliver(max(used(it)) - 1, envelope("b"))
        await turns()
        assert started == ["b"]


@scenario
async def test_it_ends_when_the_client_is_closed(it: Wired) -> None:
    it.client.on("k", concurrency=2)(lambda message: None)
    task = asyncio.create_task(it.client.run())
    await turns()
    await it.client.close(drain=False)
    await task


@scenario
async def test_it_ends_with_the_error_of_a_subscription(it: Wired) -> None:
    it.client.on("a", concurrency=3)(lambda message: None)
    it.client.on("b")(lambda message: None)
    task = asyncio.create_task(it.client.run())
    await turns()
    it.hear(c.Ended(number(it, "a"), SlowConsumer.code, "too slow"))
    with pytest.raises(SlowConsumer):
        await task
    assert set(left(it)) == {number(it, "a"), number(it, "b")}


@scenario
async def test_it_runs_once_at_a_time_with_a_handler_at_least(it: Wired) -> None:
    with pytest.raises(BadQuery, match="No handler"):
        await it.client.run()
    it.client.on("k")(lambda message: None)
    calls: list[Callable[[], Any]] = [it.client.run, lambda: entered(it.client.running())]
    async with Background(it):
        for call in calls:
            with pytest.raises(BadQuery, match="already running"):
                await call()
        with pytest.raises(BadQuery, match="already running"):
            it.client.on("l")(lambda message: None)
    for value in (1, None, "yes"):
        with pytest.raises(BadArgument):
            await it.client.run(stop_on_error=value)  # type: ignore[arg-type]


async def running(client: Client) -> None:
    await client.run()


async def entered(context: AbstractAsyncContextManager[None]) -> None:
    async with context:
        pass


def test_it_runs_in_a_client_that_is_open_and_in_its_loop() -> None:
    client = Client("ipc:///nowhere", client="joe")
    client.on("k")(lambda message: None)
    with pytest.raises(Closed, match="not open"):
        asyncio.run(running(client))

    @scenario
    async def told(it: Wired) -> None:
        it.client.on("k")(lambda message: None)
        with pytest.raises(WrongLoop):
            await asyncio.to_thread(asyncio.run, running(it.client))

    told()


def _yields(message: mesh.Message) -> Iterator[int]:
    yield 1


async def _yields_too(message: mesh.Message) -> AsyncIterator[int]:
    yield 1


WRONG: list[tuple[tuple[Any, ...], dict[str, Any], type[MeshError]]] = [
    ((), {}, BadQuery),
    (("",), {}, BadKey),
    (("a\ud800",), {}, BadKey),
    (("#/a",), {}, BadPattern),
    ((5,), {}, BadType),
    ((None,), {}, BadType),
    ((["a"],), {}, BadType),
    ((lambda message: None,), {}, BadType),
    (("a",), {"type": "int"}, BadType),
    (("a",), {"domain": "\n"}, BadKey),
    (("a",), {"initial": 1}, BadArgument),
    (("a",), {"overflow": "never"}, BadQuery),
    *((("a",), {"concurrency": value}, BadArgument) for value in (0, -1, 1.0, True, None, "2", 1001, 2**63)),
    *((("a",), {"max_queue": value}, BadArgument) for value in (-1, 1.5, 2**63, float("nan"))),
]


@scenario
async def test_what_makes_no_sense_is_refused_where_it_stands(it: Wired) -> None:
    for client in (it.client, mesh.sync.connect()):
        for topics, options, error in WRONG:
            with pytest.raises(error):
                client.on(*topics, **options)
        for wrong in (None, 5, "k"):
            with pytest.raises(BadType, match="cannot be called"):
                client.on("k")(wrong)  # type: ignore[arg-type]
        for lazy in (_yields, _yields_too):
            with pytest.raises(BadType, match="is a generator"):
                client.on("k")(lazy)
    assert it.client._handlers.all == []


# --- a run beside other code ----------------------------------------------------------------------------


@scenario
async def test_running_has_subscribed_when_it_is_entered_and_left_when_it_is_left(it: Wired) -> None:
    seen: list[str] = []
    it.client.on("k")(lambda message: seen.append(message.key))
    before = len(asyncio.all_tasks())
    for turn in (1, 2):
        async with it.client.running():
            [n] = used(it)
            it.deliver(n, envelope("k", first=turn))
            await turns()
            assert len(seen) == turn
        assert not used(it) and len(asyncio.all_tasks()) == before


@scenario
async def test_a_failure_cancels_what_stands_inside_running_and_is_raised_in_its_place(it: Wired) -> None:
    @it.client.on("k")
    def bad(message: mesh.Message) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        async with it.client.running(stop_on_error=True):
            it.deliver(number(it, "k"), envelope("k"))
            await asyncio.sleep(60)
    here = asyncio.current_task()
    assert here is not None and here.cancelling() == 0
    async with asyncio.timeout(LIMIT):
        await asyncio.sleep(0)


@scenario
async def test_what_is_raised_inside_running_is_raised(it: Wired) -> None:
    it.client.on("k")(lambda message: 1 / 0)
    with pytest.raises(KeyError, match="mine"):
        async with it.client.running():
            raise KeyError("mine")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01), it.client.running():
            await asyncio.sleep(60)
    with pytest.raises(LookupError, match="instead"):
        async with it.client.running(stop_on_error=True):
            it.deliver(max(used(it)), envelope("k"))
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                raise LookupError("instead") from None
    here = asyncio.current_task()
    assert here is not None and here.cancelling() == 0 and not used(it)


def test_who_cancels_it_from_outside_has_it_cancelled_though_a_handler_fails_too() -> None:
    async def fail() -> None:
        raise ValueError("no")

    async def main() -> None:
        failing: list[asyncio.Task[None]] = []

        async def inside() -> None:
            failing.append(asyncio.create_task(fail()))
            with _cancelled_by(failing[0]):
                failing[0].add_done_callback(lambda _: task.cancel())
                await asyncio.sleep(60)

        task = asyncio.create_task(inside())
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelling() == 1, "what the handler asked for is taken back"

    asyncio.run(main())


@scenario
async def test_a_subscription_that_is_refused_is_told_where_running_is_entered(it: Wired) -> None:
    it.client.on("k")(lambda message: None)
    it.wire.is_deaf = True
    task = asyncio.create_task(entered(it.client.running()))
    await turns()
    it.hear(c.Reply(1, None, "TOO_MANY", "no more"))
    with pytest.raises(MeshError, match="no more"):
        await task
    assert not used(it)


def test_a_client_that_nobody_has_any_more_is_forgotten_with_its_handlers() -> None:
    import gc
    import weakref

    client = Client("ipc:///nowhere", client="joe")
    client.on("k")(lambda message: None)
    gc.disable()
    try:
        there = weakref.ref(client)
        del client
        assert there() is None
    finally:
        gc.enable()


# --- with nodes -----------------------------------------------------------------------------------------


def test_without_a_loop_handlers_may_wait_and_use_their_client() -> None:
    async def main() -> None:
        async with mesh_of("a") as made:
            await asyncio.wait_for(asyncio.to_thread(blocking, made.environ), LIMIT)

    asyncio.run(main())


def blocking(environ: dict[str, str]) -> None:
    done = threading.Event()
    seen: list[str] = []
    with mesh.sync.connect("a", environ=environ) as m:

        @m.on("in/#", type=int)
        def double(message: mesh.Message[int]) -> None:
            m.publish("out", 2 * message.value)

        @m.on("out", type=int)
        def result(message: mesh.Message[int]) -> None:
            seen.append(f"{message.key}={message.value}")
            done.set()
            raise ZeroDivisionError

        async def asynchronous(message: mesh.Message) -> None: ...

        with pytest.raises(BadType, match="is an async function"):
            m.on("k")(asynchronous)
        with m.running():
            m.publish("in/1", 21)
            assert done.wait(LIMIT)
        assert m.get("out", type=int)[0].value == 42 and seen == ["out=42"]
        with pytest.raises(ZeroDivisionError):
            m.run(stop_on_error=True)  # the retained value of "out" arrives at once


class App:
    """The part of FastAPI that the example needs, with the lifespan of an ASGI server."""

    def __init__(self, *, lifespan: Callable[[Any], AbstractAsyncContextManager[None]]) -> None:
        self.lifespan = lifespan
        self.state = types.SimpleNamespace()
        self.routes: dict[str, Any] = {}

    def get(self, path: str) -> Callable[[Any], Any]:
        return lambda function: self.routes.setdefault(f"GET {path}", function)

    def post(self, path: str) -> Callable[[Any], Any]:
        return lambda function: self.routes.setdefault(f"POST {path}", function)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Run the lifespan in one task, as Starlette does."""
        assert scope["type"] == "lifespan" and (await receive())["type"] == "lifespan.startup"
        async with self.lifespan(self):
            await send({"type": "lifespan.startup.complete"})
            assert (await receive())["type"] == "lifespan.shutdown"
        await send({"type": "lifespan.shutdown.complete"})


def test_the_example_lives_beside_a_web_service(monkeypatch: pytest.MonkeyPatch) -> None:
    fastapi = types.ModuleType("fastapi")
    fastapi.FastAPI = App  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fastapi", fastapi)

    async def main() -> None:
        async with mesh_of("a") as made:
            for name, value in made.environ.items():
                monkeypatch.setenv(name, value)
            monkeypatch.setenv("MESH_URL", "a")
            spec = importlib.util.spec_from_file_location(
                "readings", ROOT / "examples" / "web" / "readings.py"
            )
            assert spec is not None and spec.loader is not None
            example = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(example)
            to_app: asyncio.Queue[Any] = asyncio.Queue()
            from_app: asyncio.Queue[Any] = asyncio.Queue()
            serving = asyncio.create_task(example.app({"type": "lifespan"}, to_app.get, from_app.put))
            to_app.put_nowait({"type": "lifespan.startup"})
            assert (await from_app.get())["type"] == "lifespan.startup.complete"
            assert example.app.state.mesh.name.startswith("/node/a/client/readings")
            answer = await example.app.routes["POST /rooms/{room}"]("hall", 21.5)
            assert answer["state"] == "OK"
            await eventually(lambda: example.latest)
            assert await example.app.routes["GET /rooms"]() == {"hall": 21.5}
            to_app.put_nowait({"type": "lifespan.shutdown"})
            assert (await from_app.get())["type"] == "lifespan.shutdown.complete"
            await serving

    asyncio.run(asyncio.wait_for(main(), LIMIT))
