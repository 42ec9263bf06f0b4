"""Hostile values for every public method: each works, or is refused at the call by name."""

import asyncio
import math
import re
import threading
from array import array
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

import mesh
from mesh import sync
from mesh.client.arguments import MOST_NODES, several_nodes
from mesh.client.client import Client
from mesh.errors import (
    BadArgument,
    BadKey,
    BadName,
    BadPattern,
    BadQuery,
    LocalError,
    MeshError,
    MeshTimeout,
    PublishRefused,
)
from tests.mesh.meshes import LIMIT, in_memory, mesh_of, take

SURROGATE = "a\ud800b"
NUMBERS: list[Any] = [
    math.inf, -math.inf, math.nan, -1, -2e9, 8.64e9, 2**63, -(2**63), 10**400, 10**5000, 1e308, 2.5, True,
    None, "5", b"5", [], {}, object(),
]  # fmt: skip
TEXTS: list[Any] = [
    "", SURROGATE, "a\nb", "a/#", "+", "#/a", "x" * 5000, 5, 2.5, math.nan, True, b"k", ["a"],
    {"a": 1}, (), object(), 10**5000,
]  # fmt: skip
KEYS: list[Any] = [*TEXTS, memoryview(array("I", [1]))]
FLAGS: list[Any] = ["no", 0, 1, None, [], math.nan]
HEADERS: list[Any] = [
    {SURROGATE: "x"}, {"x": SURROGATE}, {"x": 5}, {5: "x"}, {"x": None}, [("a",)], [("a", "b", "c")], "ab",
    b"ab", 5, 0, "", [5], {"x": "y" * 70_000}, object(),
]  # fmt: skip
CONTENTS: list[Any] = [SURROGATE, 5, None, ["a"], {"a": 1}, {(1, 2): 3}, object(), b"x" * (1 << 21), math.nan]
MANY: list[Any] = [
    "abc", b"abc", bytearray(b"abc"), memoryview(b"abc"), 5, None, object(), [5], ["a", SURROGATE],
]  # fmt: skip
TO: list[Any] = [*TEXTS, None, ["client/a", 5], [SURROGATE], "client/a/session/0"]
ARGUMENTS: list[Any] = [*NUMBERS, {1: 2}, {"a": {1, 2}}, SURROGATE, "x" * 300_000]

Call = Callable[[Client, Any], Any]
PUBLISHING: dict[str, tuple[Call, list[Any]]] = {
    f"{verb} {name}": (lambda m, v, f=function, n=name: f(m, {n: v}), values)  # type: ignore[misc]
    for verb, function in {
        "publish": lambda m, o: m.publish("k", b"x", **o),
        "post": lambda m, o: m.post("k", b"x", **o),
        "publish_many": lambda m, o: m.publish_many("k", [b"x"], **o),
        "publish_oneway": lambda m, o: m.publish_oneway("k", b"x", **o),
    }.items()
    for name, values in {
        "expiry": NUMBERS,
        "priority": NUMBERS,
        "headers": HEADERS,
        "domain": TEXTS,
        "xml": TEXTS,
        "persistent": FLAGS,
        "local_only": FLAGS,
        "relay": FLAGS,
        "prioritty": [5],
    }.items()
}
CALLS: dict[str, tuple[Call, list[Any]]] = {
    **PUBLISHING,
    "publish key": (lambda m, v: m.publish(v, b"x"), KEYS),
    "post key": (lambda m, v: m.post(v, b"x"), KEYS),
    "publish content": (lambda m, v: m.publish("k", v), CONTENTS),
    "post content": (lambda m, v: m.post("k", v), CONTENTS),
    "publish_many contents": (lambda m, v: m.publish_many("k", v), MANY),
    "publish_many key": (lambda m, v: m.publish_many(v, [b"x"]), TEXTS),
    "send destination": (lambda m, v: m.send(v, b"x"), TO),
    "send key": (lambda m, v: m.send("client/nobody", b"x", key=v), TEXTS),
    "send headers": (lambda m, v: m.send("client/nobody", b"x", headers=v), HEADERS),
    "send expiry": (lambda m, v: m.send("client/nobody", b"x", expiry=v), NUMBERS),
    "send priority": (lambda m, v: m.send("client/nobody", b"x", priority=v), NUMBERS),
    "send force": (lambda m, v: m.send("client/nobody", b"x", force_queuing=v), FLAGS),
    "subscribe key": (lambda m, v: entered(m.subscribe(v)), TEXTS),
    "subscribe pattern": (lambda m, v: entered(m.subscribe(pattern=v)), TEXTS),
    "subscribe domain": (lambda m, v: entered(m.subscribe("k", domain=v)), TEXTS),
    "subscribe max_queue": (lambda m, v: entered(m.subscribe("k", max_queue=v)), NUMBERS),
    "subscribe overflow": (lambda m, v: entered(m.subscribe("k", overflow=v)), TEXTS),
    "subscribe history": (lambda m, v: entered(m.subscribe("k", history=v)), NUMBERS),
    "get history": (lambda m, v: m.get("k", history=v), NUMBERS),
    "subscribe initial": (lambda m, v: entered(m.subscribe("k", initial=v)), FLAGS),
    "subscribe foo": (lambda m, v: m.subscribe(**{"foo": v}), [1]),
    "unsubscribe": (lambda m, v: m.unsubscribe(v), TEXTS),
    "get key": (lambda m, v: m.get(v), TEXTS),
    "get pattern": (lambda m, v: m.get(pattern=v), TEXTS),
    "get domain": (lambda m, v: m.get("k", domain=v), TEXTS),
    "get fresh": (lambda m, v: m.get("k", fresh=v), FLAGS),
    "erase key": (lambda m, v: m.erase(v), TEXTS),
    "erase domain": (lambda m, v: m.erase("k", domain=v), TEXTS),
    "route key": (lambda m, v: m.route(v), TEXTS),
    "route to": (lambda m, v: m.route(to=v), TEXTS),
    "route node": (lambda m, v: m.route("k", node=v), TEXTS),
    "call verb": (lambda m, v: m.call(v), TEXTS),
    "call arguments": (lambda m, v: m.call("info", a=v), ARGUMENTS),
    "final": (lambda m, v: m.final(v), TEXTS),
    "publish timeout": (lambda m, v: m.publish("k", b"x", timeout=v), NUMBERS),
    "publish_many timeout": (lambda m, v: m.publish_many("k", [b"x"], timeout=v), NUMBERS),
    "send timeout": (lambda m, v: m.send("client/nobody", b"x", timeout=v), NUMBERS),
    "get timeout": (lambda m, v: m.get("k", timeout=v), NUMBERS),
    "erase silent": (lambda m, v: m.erase("k", silent=v), FLAGS),
    "erase history_only": (lambda m, v: m.erase("k", history_only=v), FLAGS),
    "erase timeout": (lambda m, v: m.erase("k", timeout=v), NUMBERS),
    "flush timeout": (lambda m, v: m.flush(timeout=v), NUMBERS),
    "room timeout": (lambda m, v: m.room(timeout=v), NUMBERS),
    "several destinations": (lambda m, v: m.send([v], b"x"), TO),
    "erase xpath": (lambda m, v: m.erase("k", xpath=v), TEXTS),
    "get xpath": (lambda m, v: m.get(xpath=v), TEXTS),
    "route domain": (lambda m, v: m.route("k", domain=v), TEXTS),
    "send address": (lambda m, v: m.send("nobody", v), CONTENTS),
    "send delivery": (lambda m, v: m.send("nobody", b"x", delivery=v), [*TEXTS, "one", "all", "ALL"]),
    "send local_only": (lambda m, v: m.send("nobody", b"x", local_only=v), FLAGS),
    "send to an address, key": (lambda m, v: m.send("nobody", b"x", key=v), TEXTS),
    "send to an address, expiry": (lambda m, v: m.send("nobody", b"x", expiry=v), NUMBERS),
    "send to an address, domain": (lambda m, v: m.send("nobody", b"x", domain=v), TEXTS),
    "send to an address, persistent": (lambda m, v: m.send("nobody", b"x", persistent=v), FLAGS),
    "send to an address, force": (lambda m, v: m.send("nobody", b"x", force_queuing=v), FLAGS),
    "request address": (lambda m, v: m.request(v, b"x"), TEXTS),
    "request content": (lambda m, v: m.request("nobody", v), CONTENTS),
    "request timeout": (lambda m, v: m.request("nobody", b"x", timeout=v), NUMBERS),
    "request local_only": (lambda m, v: m.request("nobody", b"x", local_only=v), FLAGS),
    "request retry_lost": (lambda m, v: m.request("nobody", b"x", retry_lost=v), FLAGS),
    "request headers": (lambda m, v: m.request("nobody", b"x", headers=v), HEADERS),
    "request priority": (lambda m, v: m.request("nobody", b"x", priority=v), NUMBERS),
    "request type": (lambda m, v: m.request("nobody", b"x", type=v), [5, "x", object(), math.nan]),
    "gather address": (lambda m, v: entered(m.gather(v, b"x")), TEXTS),
    "gather content": (lambda m, v: entered(m.gather("nobody", v)), CONTENTS),
    "gather timeout": (lambda m, v: entered(m.gather("nobody", b"x", timeout=v)), NUMBERS),
    "gather most": (lambda m, v: entered(m.gather("nobody", b"x", most=v)), NUMBERS),
    "gather headers": (lambda m, v: entered(m.gather("nobody", b"x", headers=v)), HEADERS),
    "serve address": (lambda m, v: entered(m.serve(v)), TEXTS),
    "serve prefetch": (lambda m, v: entered(m.serve("x", prefetch=v)), NUMBERS),
    "serve local_only": (lambda m, v: entered(m.serve("x", local_only=v)), FLAGS),
    "serve type": (lambda m, v: entered(m.serve("x", type=v)), [5, "x", object(), math.nan]),
    "service address": (lambda m, v: m.service(v), TEXTS),
    "service concurrency": (lambda m, v: m.service("x", concurrency=v), NUMBERS),
    "service local_only": (lambda m, v: m.service("x", local_only=v), FLAGS),
    "service function": (lambda m, v: m.service("x")(v), [*TEXTS, None]),
    "registrations": (lambda m, v: m.registrations(v), TEXTS),
    **{
        f"queue {verb} {name}": (lambda m, v, f=function, n=name: f(m.queue("q"), {n: v}), values)  # type: ignore[misc]
        for verb, function in {
            "put": lambda q, o: q.put(b"x", **o),
            "post": lambda q, o: q.post(b"x", **o),
            "put_many": lambda q, o: q.put_many([b"x"], **o),
        }.items()
        for name, values in {
            "key": TEXTS,
            "headers": HEADERS,
            "priority": NUMBERS,
            "expiry": NUMBERS,
            "delay": NUMBERS,
            "group": TEXTS,
            "persistent": FLAGS,
            "codec": TEXTS,
        }.items()
    },
    **{
        f"queue declare {name}": (lambda m, v, n=name: m.queue("q").declare(**{n: v}), values)  # type: ignore[misc]
        for name, values in {
            "scope": TEXTS,
            "distribution": TEXTS,
            "redistribution": NUMBERS,
            "max_bytes": NUMBERS,
            "max_count": NUMBERS,
            "when_full": TEXTS,
            "max_attempts": NUMBERS,
            "dead_letter": TEXTS,
            "expiry": NUMBERS,
            "nodes": [*TEXTS, *TO],
            "exclusive": FLAGS,
            "policy": TEXTS,
        }.items()
    },
    "queue name": (lambda m, v: m.queue(v).info(), TEXTS),
    "queue put content": (lambda m, v: m.queue("q").put(v), CONTENTS),
    "queue put_many contents": (lambda m, v: m.queue("q").put_many(v), MANY),
    "queue put timeout": (lambda m, v: m.queue("q").put(b"x", timeout=v), NUMBERS),
    "queue peek": (lambda m, v: m.queue("q").peek(v), NUMBERS),
    "queue delete": (lambda m, v: m.queue("q").delete(if_unused=v), FLAGS),
    "queue consume selector": (lambda m, v: entered(m.queue("q").consume(selector=v)), TEXTS),
    "queue consume prefetch": (lambda m, v: entered(m.queue("q").consume(prefetch=v)), NUMBERS),
    "queue consume lease": (lambda m, v: entered(m.queue("q").consume(lease=v)), NUMBERS),
    "queue consume type": (lambda m, v: entered(m.queue("q").consume(type=v)), [5, "x", object(), math.nan]),
    "queue get selector": (lambda m, v: m.queue("q").get(selector=v, timeout=0), TEXTS),
    "queue get timeout": (lambda m, v: m.queue("q").get(timeout=v), [*NUMBERS[:13], *NUMBERS[14:]]),
    "call page": (lambda m, v: m.call("ls", after=v), ARGUMENTS),
    "call limit": (lambda m, v: m.call("ls", limit=v), ARGUMENTS),
}
# Python's own message about an unknown argument.
UNKNOWN = re.compile(r"unexpected keyword argument '(prioritty|foo)'")


async def entered(subscription: Any) -> None:
    async with subscription:
        pass


async def outcome(call: Call, m: Client, value: Any) -> str:
    """Return "" if the call works or is refused as it should be, else the error."""
    try:
        async with asyncio.timeout(LIMIT):
            result = call(m, value)
            if isinstance(result, Awaitable):
                await result
    except MeshTimeout as error:
        return f"stood still: {error}"
    except MeshError as error:
        return "" if error.code and str(error) and error.code != "MALFORMED" else f"vague: {error!r}"
    except TypeError as error:
        return "" if UNKNOWN.search(str(error)) else f"unclear: {error}"
    except BaseException as error:
        return repr(error)
    return ""


@pytest.mark.filterwarnings("ignore:erase:DeprecationWarning")  # of an empty domain
def test_trial_B1_no_value_of_any_argument_stops_a_client() -> None:
    async def scenario() -> list[str]:
        said = []
        async with in_memory("a") as m, m.connect("a") as ma, m.connect("a") as reader:
            events: list[str] = []
            listening = asyncio.create_task(_listen(ma, events))
            await asyncio.sleep(0)
            await reader.queue("q").declare()
            async with reader.subscribe("proof") as sub:
                for name, (call, values) in CALLS.items():
                    for value in values:
                        if bad := await outcome(call, ma, value):
                            said.append(f"{name} {repr(value)[:30]}: {bad}")
                    await ma.publish("proof", name.encode())
                    [message] = await take(sub, 1)
                    assert message.content == name.encode()
            listening.cancel()
            assert not events
        return said

    assert asyncio.run(scenario()) == []


async def _listen(m: Client, heard: list[str]) -> None:
    async for event in m.events():
        heard.append(f"{event.kind}: {event.text}")


CONNECT: list[tuple[dict[str, Any], type[Exception]]] = [
    *(({"timeout": value}, BadArgument) for value in (math.inf, math.nan, 0, -1, "5", True, 10**400)),
    *(({"session": value}, BadArgument) for value in (0, -1, 2**63, 2.5, True, "1", math.nan, b"1")),
    *(({"client": value}, BadName) for value in ("", SURROGATE, "a/b", 5, b"a", ["a"], "x" * 65)),
    *(({"address": value}, BadArgument) for value in (5, b"a", SURROGATE, "a\0b", ["a"], "x" * 5000)),
    *(({"tracing": value}, BadArgument) for value in FLAGS),
    *(({"cluster": value}, BadArgument) for value in (5, b"a", SURROGATE, "a\0b")),
]


@pytest.mark.parametrize("connect", [mesh.connect, sync.connect])
@pytest.mark.parametrize(("options", "error"), CONNECT, ids=lambda value: repr(value)[:30])
def test_trial_B1_what_cannot_be_connected_with_is_refused_at_the_call(
    connect: Callable[..., object], options: dict[str, Any], error: type[LocalError]
) -> None:
    with pytest.raises(error) as caught:
        connect(**options)
    assert caught.value.code


@pytest.fixture(scope="module")
def blocking() -> Iterator[sync.Client]:
    """A client without a loop, of a node in a loop of its own."""
    ready, over = threading.Event(), threading.Event()
    found: dict[str, Any] = {}

    async def scenario() -> None:
        async with mesh_of("a") as m:
            found["environ"] = m.environ
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(scenario()))
    thread.start()
    assert ready.wait(LIMIT)
    try:
        with sync.connect("a", environ=found["environ"]) as m:
            yield m
    finally:
        over.set()
        thread.join()


ASYNC_ONLY = ("subscribe", "unsubscribe", "final", "serve ", "gather", "queue consume")


@pytest.mark.filterwarnings("ignore:erase:DeprecationWarning")  # of an empty domain
@pytest.mark.parametrize("name", [name for name in CALLS if not name.startswith(ASYNC_ONLY)])
def test_trial_B1_nor_a_blocking_one(blocking: sync.Client, name: str) -> None:
    call, values = CALLS[name]
    for value in values:
        try:
            call(blocking, value)  # type: ignore[arg-type]
        except MeshTimeout:
            raise
        except MeshError:
            pass
        except TypeError as error:
            assert UNKNOWN.search(str(error))
    with suppress(MeshError):  # a refused post may be reported here
        blocking.flush()
    assert blocking.publish("proof", b"x").ok


@pytest.mark.parametrize("timeout", [math.inf, math.nan, -1, 1e300, "5", True])
def test_trial_B1_a_blocking_reader_waits_for_no_odd_time(blocking: sync.Client, timeout: Any) -> None:
    with blocking.subscribe("nothing") as sub:
        with pytest.raises(BadArgument):
            sub.next_message(timeout)
        with pytest.raises(MeshTimeout):
            sub.next_message(0)


def test_trial_B3_an_empty_text_never_means_everything() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ma:
            await ma.publish("k", b"x")
            with pytest.raises(BadPattern):
                ma.subscribe(pattern="")
            with pytest.raises(BadPattern):
                await ma.get(pattern="")
            with pytest.raises(BadPattern):
                await ma.get(pattern="", domain="D")
            with pytest.raises(BadQuery):
                ma.subscribe(domain="")
            with pytest.raises(BadQuery):
                await ma.get(domain="")
            with pytest.raises(BadKey):
                ma.subscribe("")
            with pytest.raises(BadKey):
                await ma.get("")
            with pytest.raises(BadKey):
                await ma.erase("")
            assert [message.key for message in await ma.get(pattern="#", domain="")] == ["k"]

    asyncio.run(scenario())


def test_trial_B1_what_is_the_meshs_own_is_refused_alone_and_what_is_published_beside_it_goes_on() -> None:
    async def main() -> None:
        async with in_memory("a") as made, made.connect("a") as m:
            found = await asyncio.gather(
                m.publish("good/1", b"1"),
                m.publish("__sys__x", b"2"),
                m.publish("good/2", b"3"),
                m.publish("good/3", b"4", domain="__sys__d"),
                return_exceptions=True,
            )
            assert [getattr(each, "code", "OK") for each in found] == ["OK", "RESERVED", "OK", "RESERVED"]
            with pytest.raises(PublishRefused, match="RESERVED"):
                await m.publish_oneway("__sys__x", b"x")
            assert (await m.publish("good/4", b"5")).state == "OK"
            assert len(await m.get(pattern="good/#")) == 3

    asyncio.run(main())


def test_several_nodes_are_named_by_texts_each_once() -> None:
    assert several_nodes("heron", ()) == several_nodes(None, ()) == ()
    assert several_nodes("heron", ("stork", "heron")) == ("heron", "stork")
    assert len(several_nodes("n", tuple(f"n{n}" for n in range(MOST_NODES - 1)))) == MOST_NODES


@pytest.mark.parametrize(
    ("address", "others"),
    [
        (None, ("stork",)),
        ("", ("stork",)),
        ("heron", ("",)),
        ("heron", (None,)),
        ("heron", (7710,)),
        ("heron", (b"stork",)),
        ("heron", ("a\nb",)),
        ("heron", (["stork"],)),
        ("heron", ("x" * 5000,)),
        ("heron", ("stork",) * MOST_NODES),
    ],
)
def test_what_names_no_node_among_several_is_refused_at_the_call(
    address: Any, others: tuple[Any, ...]
) -> None:
    with pytest.raises(BadArgument):
        several_nodes(address, others)
    with pytest.raises(BadArgument):
        mesh.connect(address, *others)
