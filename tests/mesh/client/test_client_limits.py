"""Time limits of calls, with a loop and without, and messages that outlive the limit of their call."""

import asyncio
import logging
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest

from mesh import sync
from mesh.client import wired as wiring
from mesh.client.client import Client
from mesh.client.core.subscriptions import DROPPED
from mesh.errors import BadArgument, BadQuery, MeshTimeout, PublishRefused
from tests.mesh.client.wired import DeafWire, Wired, scenario, turns, wired
from tests.waiting import LIMIT, eventually, until

SOON = 0.02  # s


Call = Callable[[Any, float | None], Any]
CALLS: dict[str, Call] = {
    "publish": lambda m, t: m.publish("k", b"x", timeout=t),
    "publish_many": lambda m, t: m.publish_many("k", [b"x"] * 3, timeout=t),
    "publish_many of a generator": lambda m, t: m.publish_many("k", (b"x" for _ in range(3)), timeout=t),
    "send": lambda m, t: m.send("client/joe", b"x", timeout=t),
    "send to several": lambda m, t: m.send(["client/joe", "client/jim"], b"x", timeout=t),
    "get": lambda m, t: m.get("k", timeout=t),
    "erase": lambda m, t: m.erase("k", timeout=t),
    "flush": lambda m, t: (m.post("k", b"x"), m.flush(timeout=t))[1],
    "final": lambda m, t: m.final(m.post("k", b"x"), timeout=t),
}
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "nodes": lambda m: m.nodes(),
    "views": lambda m: m.views(),
    "info": lambda m: m.info(),
    "ping": lambda m: m.ping(),
    "route": lambda m: m.route("k"),
    "call": lambda m: m.call("peers"),
    "subscribe": lambda m: m.subscribe("k").__aenter__(),
    "subscribe to several": lambda m: m.subscribe("a", "b").__aenter__(),
    "inbox": lambda m: m.inbox().__aenter__(),
    "run": lambda m: (m.on("k")(print), m.run())[1],
}
FULL: dict[str, Call] = {
    **CALLS,
    "publish_oneway": lambda m, t: m.publish_oneway("k", b"x", timeout=t),
    "room": lambda m, t: m.room(timeout=t),
}
for name in ("final", "flush"):  # these need space for a message of their own
    del FULL[name]


async def outcome(call: Call, m: Client, limit: float | None) -> MeshTimeout:
    with pytest.raises(MeshTimeout) as caught:
        async with asyncio.timeout(LIMIT):
            await call(m, limit)
    assert caught.value.code == "TIMEOUT"
    return caught.value


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("is_patience", [False, True])
def test_a_call_ends_within_its_limit_or_the_patience_of_the_client(name: str, is_patience: bool) -> None:
    async def told() -> None:
        client = Client("ipc:///run/heron", client="joe", patience=SOON if is_patience else 5.0)
        async with wired(DeafWire, client) as it:
            error = await outcome(CALLS[name], it.client, None if is_patience else SOON)
            assert "0.02 s" in str(error) and error.hint
            is_question = name in ("get", "erase")
            assert is_question or re.search(r"[1-9] messages? may still arrive", error.hint)

    asyncio.run(told())


@pytest.mark.parametrize("name", QUESTIONS)
def test_so_does_a_question_that_has_no_limit_of_its_own_and_leaves_nothing(name: str) -> None:
    async def told() -> None:
        client = Client("ipc:///run/heron", client="joe", patience=SOON)
        async with wired(DeafWire, client) as it:
            with pytest.raises(MeshTimeout, match=r"did not finish within 0\.02 s"):
                async with asyncio.timeout(LIMIT):
                    await QUESTIONS[name](it.client)
            assert not it.client._core.subscriptions._all

    asyncio.run(told())


@pytest.mark.parametrize("name", FULL)
def test_so_does_one_that_waits_for_room(name: str) -> None:
    async def told() -> None:
        async with wired(DeafWire) as it:
            it.client._core.publisher.outbox.window = (1, 1)
            it.client.post("k", b"x")
            await turns()
            error = await outcome(FULL[name], it.client, SOON)
            assert error.ids == () and "may still arrive" in str(error)

    asyncio.run(told())


def test_a_limit_is_no_limit_for_what_is_answered_in_time() -> None:
    @scenario
    async def told(it: Wired) -> None:
        publishing = asyncio.create_task(it.client.publish("k", b"x", timeout=5))
        await turns()
        it.answer(1, 1)
        assert (await publishing).ok

    told()


def test_what_ends_before_its_limit_says_itself_why() -> None:
    async def told() -> None:
        async with wired(DeafWire) as it:
            it.client._core.calls._timeout = 0.2
            with pytest.raises(MeshTimeout, match=r"did not answer within 0\.2 s"):
                await it.client.get("k", timeout=LIMIT)

    asyncio.run(told())


def test_a_message_whose_publisher_waits_no_more_may_arrive_and_final_knows() -> None:
    @scenario
    async def told(it: Wired) -> None:
        with pytest.raises(MeshTimeout) as caught:
            await it.client.publish("k", b"x", timeout=SOON)
        [name] = caught.value.ids
        assert name == it.client.post("k", b"y").id.replace(":2", ":1")
        with pytest.raises(MeshTimeout):
            await it.client.final(name, timeout=SOON)
        waiting = asyncio.create_task(it.client.final(name))
        await turns()
        it.answer(1, 1)
        assert ((await waiting).ok, (await it.client.final(name)).id) == (True, name)

    told()


def test_a_refusal_of_such_a_message_is_told_by_final_and_by_flush() -> None:
    @scenario
    async def told(it: Wired) -> None:
        names: list[str] = []
        for _ in range(2):
            with pytest.raises(MeshTimeout) as caught:
                await it.client.publish("k", b"x", timeout=SOON)
            names += caught.value.ids
        it.answer(1, 2, "EXPIRED", "too late")
        with pytest.raises(PublishRefused, match="too late"):
            await it.client.final(names[0])
        with pytest.raises(PublishRefused, match="too late"):
            await it.client.flush()

    told()


def test_after_several_sends_all_that_left_have_names() -> None:
    @scenario
    async def told(it: Wired) -> None:
        with pytest.raises(MeshTimeout) as caught:
            await it.client.send(["client/a", "client/b", "client/c"], b"x", timeout=SOON)
        assert len(set(caught.value.ids)) == 3
        it.answer(1, 3)
        assert all([(await it.client.final(name)).ok for name in caught.value.ids])

    told()


def test_who_is_cancelled_is_no_worse_off() -> None:
    @scenario
    async def told(it: Wired) -> None:
        receipt = it.client.post("k", b"x")
        for awaited in (receipt, it.client.final(receipt), it.client.publish("k", b"y")):
            waiting = asyncio.ensure_future(awaited)
            await turns()
            waiting.cancel()
            await asyncio.wait([waiting])
            assert waiting.cancelled()
        await eventually(lambda: sum(envelope.count for envelope in it.sent) == 2)
        it.answer(1, 2)
        assert (await it.client.final(receipt)).ok
        assert (await it.client.final(receipt.id.replace(":1", ":2"))).ok

    told()


def test_a_cancellation_within_a_limit_is_no_timeout() -> None:
    @scenario
    async def told(it: Wired) -> None:
        publishing = asyncio.create_task(it.client.publish("k", b"x", timeout=5))
        await turns()
        publishing.cancel()
        await asyncio.wait([publishing])
        assert publishing.cancelled()

    told()


def test_final_knows_only_what_this_session_published() -> None:
    @scenario
    async def told(it: Wired) -> None:
        mine = it.client.post("k", b"x").id
        others: list[Any] = [
            mine.replace(":1", ":2"),
            "0" * 32 + ":1",
            "",
            "x",
            "a\ud800:1",
            mine + "0",
            mine[:-1] + "0",
        ]
        for name in others:
            with pytest.raises(BadQuery):
                await it.client.final(name)
        wrong: list[Any] = [None, 5, b"x", object()]
        for name in wrong:
            with pytest.raises(BadArgument):
                await it.client.final(name)

    told()


BAD: list[Any] = [float("nan"), float("inf"), -1, "5", True, [], 10**400, b"1"]


@pytest.mark.parametrize("name", FULL)
def test_an_odd_limit_is_refused_at_the_call_and_nothing_is_sent(name: str) -> None:
    @scenario
    async def told(it: Wired) -> None:
        for timeout in BAD:
            with pytest.raises(BadArgument, match="timeout="):
                await FULL[name](it.client, timeout)
        await turns()
        assert it.sent == []

    told()


@pytest.mark.parametrize("patience", [*BAD, 0], ids=repr)
@pytest.mark.parametrize("kind", [Client, sync.Client])
def test_so_is_an_odd_patience(kind: type, patience: Any) -> None:
    with pytest.raises(BadArgument, match="patience="):
        kind(patience=patience)


# --- without a loop -----------------------------------------------------------------------------------


@pytest.fixture
def blocking() -> Iterator[sync.Client]:
    """A client on a wire whose node never answers."""
    m = sync.Client("ipc:///run/heron", client="joe")
    with patch.object(wiring, "Sockets", DeafWire):
        m.__enter__()
    yield m
    m.close(drain=False)


@pytest.mark.parametrize("name", CALLS)
def test_a_blocking_call_ends_within_its_limit_too(blocking: sync.Client, name: str) -> None:
    with pytest.raises(MeshTimeout, match=r"\b0(\.0\d*)? s"):
        CALLS[name](blocking, SOON)


@pytest.mark.parametrize("name", FULL)
def test_also_behind_messages_that_find_no_room(blocking: sync.Client, name: str) -> None:
    outbox = blocking._aio._core.publisher.outbox
    outbox.window = (1, 1)
    blocking.post("k", b"x")
    until(lambda: outbox.unanswered)
    blocking.post("k", b"x")
    with pytest.raises(MeshTimeout):
        FULL[name](blocking, SOON)


def test_a_blocking_receipt_has_a_limit_and_final_takes_its_names(blocking: sync.Client) -> None:
    receipt = blocking.post("k", b"x")
    with pytest.raises(MeshTimeout):
        receipt.result(timeout=SOON)
    with pytest.raises(BadArgument):
        receipt.result(timeout=-1)
    with pytest.raises(MeshTimeout) as caught:
        blocking.publish("k", b"x", timeout=SOON)
    [name] = caught.value.ids
    with pytest.raises(MeshTimeout):
        blocking.final(name, timeout=SOON)


@pytest.mark.parametrize("timeout", BAD, ids=repr)
def test_an_odd_limit_of_a_blocking_call_is_refused(blocking: sync.Client, timeout: Any) -> None:
    for call in FULL.values():
        with pytest.raises(BadArgument, match="timeout="):
            call(blocking, timeout)


def test_an_argument_of_a_question_that_is_called_timeout_is_its_own(blocking: sync.Client) -> None:
    with patch.object(Client, "_called", _echo):
        assert blocking.call("x", timeout=5, verbose=True) == {"timeout": 5, "verbose": True}


async def _echo(self: Client, verb: str, arguments: dict[str, Any]) -> Any:
    return arguments


def test_the_events_of_a_blocking_client_begin_at_the_call(blocking: sync.Client) -> None:
    events = blocking.events()
    loop = blocking._thread._loop
    loop.call_soon_threadsafe(blocking._aio._core.on_disconnected, loop.time(), 1, "lost")
    loop.call_soon_threadsafe(blocking._aio._shell._turn)
    until(lambda: not blocking._aio._core.line.is_up)
    assert next(events).kind == "disconnected"


# --- the log ------------------------------------------------------------------------------------------


def test_the_log_names_session_node_and_what_happened(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mesh.client")

    @scenario
    async def told(it: Wired) -> None:
        await it.lose()
        it.client._core.subscriptions._gaps["a/#"] += 7
        it.client._core.subscriptions._tell_gaps()
        it.client._shell._turn()

    told()
    me = "/node/heron/client/joe/session/1 at heron"
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", f"{me}: connected"),
        ("INFO", f"{me}: disconnected: heron: the node closed the connection"),
        ("INFO", f"{me}: connected"),
        ("WARNING", f"{me}: gap: dropped 7 messages of a/#: {DROPPED}"),
    ]
    assert {(record.name, record.node) for record in caplog.records} == {("mesh.client", "heron")}  # type: ignore[attr-defined]


SCRIPT = """
import threading
from unittest.mock import patch
from mesh import sync
from mesh.client import wired
from mesh.client.core import absence
from tests.mesh.client.wired import DeafWire
absence.AWAY = 0.1
m = sync.Client("ipc:///run/heron", client="joe")
with patch.object(wired, "Sockets", DeafWire):
    m.__enter__()
DeafWire._answer = lambda *_: None
m._thread._loop.call_soon_threadsafe(lambda: m._aio._core.on_disconnected(m._thread._loop.time(), 1))
m._thread._loop.call_soon_threadsafe(m._aio._shell._turn)
m.publish("k", b"x")
"""


@pytest.mark.slow
def test_a_blocking_program_whose_node_is_gone_for_good_stands_still_but_not_in_silence() -> None:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], stderr=subprocess.PIPE, text=True, bufsize=1)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        me = "/node/heron/client/joe/session/1 at heron"
        assert re.fullmatch(
            rf"{me}: waiting: unreachable for \d+ s: heron; waiting for it: 1 message\n", line
        ), line
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()
