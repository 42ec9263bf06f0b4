"""Hostile input from a program to its embedded node: the same checks as over a connection, and no damage."""

import asyncio
from array import array
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.embedded.client import NodeClient
from mesh.errors import MeshError, RemoteError
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames, checked, read, write
from mesh.wire.limits import CHUNK
from tests.each import each
from tests.mesh.embedded.own import place, runtime
from tests.mesh.meshes import LIMIT, eventually
from tests.seeds import scenarios

GOOD = Envelope(b"s" * 16, "D", 1, 2, ("a", "b"), 2, 3, b"xxxyyy", array("H", [0, 1]).tobytes())
ODD: list[Any] = [
    None, -1, 0, 1, 2**31, 2**62, 2**63, 2**64, 1.0, float("nan"), float("inf"), True, "", "a", "\ud800",
    "\0", "x" * 5000, b"", b"s" * 16, b"\0\0\1\0", b"\0\0\7\0", bytearray(b"xxxyyy"),
    memoryview(b"xxxyyy"), (), ("a",), ["a", "b"], ("a", 5), ("\ud800", "b"), {}, {1: 2}, object(),
    array("I", [3, 3]).tobytes(), [1, 2], array("H", [0, 1]),
]  # fmt: skip
FIELDS = [name for name in Envelope.__struct_fields__ if name != "body"]


def outcome(way: Any, command: Any, envelopes: Any) -> Any:
    """Return the command and the envelopes that pass, or the code of the refusal."""
    try:
        said, taken = way(command, envelopes)
    except RemoteError as error:
        return error.code
    return said, [e.__class__(*(getattr(e, name) for name in e.__struct_fields__)) for e in taken]


def by_frames(command: Any, envelopes: Any) -> Any:
    try:
        frames = write(command, envelopes)
    except (AttributeError, TypeError, ValueError, OverflowError, RecursionError):
        raise RemoteError("not even written", code="MALFORMED") from None
    return read(frames)


@given(st.lists(st.tuples(st.sampled_from(FIELDS), st.sampled_from(ODD)), max_size=3))
@example([("first", 2**70)])
@example([("keys", ("a" * 2000, "b"))])
def test_both_doors_refuse_the_same_envelopes(changes: list[tuple[str, Any]]) -> None:
    envelope = replace(GOOD, **dict(changes))
    publish = c.Publish((1,))
    assert outcome(checked, publish, [envelope]) == outcome(by_frames, publish, [envelope])


OF_ANYTHING: Any = c  # allows arguments of wrong types
COMMANDS: list[Any] = [
    *(OF_ANYTHING.Publish(n) for n in ((), (0,), (2,), (1, 1), (-1,), ("1",), (2**31,), (1.0,), None, [1])),
    *(OF_ANYTHING.Ping(stamp) for stamp in (-1, 2**64, 1.5, "1")),
    *(OF_ANYTHING.Call(1, "ls", x) for x in ODD),
    *(c.Call(1, verb, {}) for verb in ("\ud800", "x" * 300_000, "")),
    *(c.Subscribe(n, n, c.Query("exact", "a", "")) for n in (-1, 2**63, 2**64)),
    *(OF_ANYTHING.Subscribe(1, 1, query) for query in (None, "a", c.Query("exact", "\ud800", ""))),
    c.Ack(2**70, ()), c.Ack(1, ((1, -1),)), c.Items(1, ()), c.Reply(1, object()), c.Pong(0),
    None, 5, "Ping", [], {},
]  # fmt: skip


@each("command", COMMANDS, name=lambda command: repr(command)[:200])
@each("count", [0, 1, 2])
def test_both_doors_refuse_the_same_commands(command: Any, count: int) -> None:
    assert outcome(checked, command, [GOOD] * count) == outcome(by_frames, command, [GOOD] * count)


@pytest.mark.parametrize("body", [bytearray(b"xxxyyy"), memoryview(bytearray(b"xxxyyy"))])
def test_a_body_that_can_be_changed_is_copied(body: Any) -> None:
    _, [taken] = checked(c.Publish((1,)), [replace(GOOD, body=body)])
    body[0:1] = b"!"
    assert taken.body == b"xxxyyy" and type(taken.body) is bytes


def test_a_body_that_cannot_is_handed_on_as_it_is() -> None:
    body = bytes(3 * CHUNK)
    envelope = replace(GOOD, body=body, sizes=len(body), count=1, last=1, keys=("a",), index=b"")
    _, [taken] = checked(c.Publish((body_frames(envelope),)), [envelope])
    assert taken.body is body


@pytest.mark.parametrize("body", [None, 6, "xxxyyy", [0] * 6, object()], ids=range(5))
def test_what_is_no_body_is_refused(body: Any) -> None:
    with pytest.raises(RemoteError) as refused:
        checked(c.Publish((1,)), [replace(GOOD, body=body)])
    assert refused.value.code == "MALFORMED"


def test_too_many_and_too_large_are_refused() -> None:
    with pytest.raises(RemoteError, match="MALFORMED"):
        checked(c.Publish((1,) * 65), [GOOD] * 65)
    with pytest.raises(RemoteError, match="TOO_LARGE"):
        checked(c.Publish((1,)), [GOOD], max_content=2)


# --- on a running node ------------------------------------------------------------------------------------


def own(m: NodeClient, **changes: Any) -> Envelope:
    """Return the next envelope that this client could publish, with `changes`, which make it invalid."""
    made = Envelope(m._stream, "", 1, 1, ("k",), 1, 1, b"x")
    return replace(made, **changes)


HOSTILE: dict[str, Any] = {
    "a body that is too long": lambda m: own(m, body=bytes(3 << 20), sizes=3 << 20),
    "a key with a lone surrogate": lambda m: own(m, keys=("\ud800",)),
    "a reserved key": lambda m: own(m, keys=("__sys__x",)),
    "a key that is none": lambda m: own(m, keys=(5,)),
    "a name of another": lambda m: own(m, sender="/node/other/client/joe"),
    "a stream of another": lambda m: own(m, stream=b"?" * 16),
    "flags of the mesh's own": lambda m: own(m, flags=32),
    "no flags at all": lambda m: own(m, flags="x"),
    "a way that it never went": lambda m: own(m, route=(("x", 0, 0),)),
    "a body that is no bytes": lambda m: own(m, body="x"),
    "sizes that do not fit": lambda m: own(m, sizes=2),
    "a number beyond all": lambda m: own(m, first=2**70, last=2**70),
}


@pytest.mark.parametrize("names", scenarios([list(HOSTILE)[:4], list(HOSTILE)[4:]]), ids=("some", "others"))
def test_hostile_values_harm_neither_the_node_nor_its_peers(names: list[str]) -> None:
    async def scenario() -> None:
        with place() as here:
            async with here.node("robot") as m, here.node("arm", m) as peer:
                async with peer.subscribe(pattern="#") as sub:
                    await eventually(lambda: runtime(m).core.parts.neighbours.membership.count == 2)
                    for number, name in enumerate(names):
                        envelope = HOSTILE[name](m)
                        count = body_frames(envelope) if type(envelope.body) is bytes else 1
                        m._shell._put(c.Publish((count,)), (envelope,))
                        async with asyncio.timeout(LIMIT):
                            await m.publish("good", b"%d" % number)  # this can need a new connection
                            assert (await anext(sub)).content == b"%d" % number, name
                for each in (m, peer):
                    assert runtime(each).driver.why is None
                    assert (await each.call("info"))["name"]

    asyncio.run(scenario())


def test_content_that_changes_after_it_was_published_is_that_of_the_moment() -> None:
    async def scenario() -> None:
        with place() as here:
            async with here.node("robot") as m:
                async with m.subscribe("k") as sub:
                    content = bytearray(b"before")
                    receipts = [m.post("k", content)]
                    content[:] = b"after!"
                    receipts.append(m.post("k", memoryview(content)))
                    content[:] = b"later!"
                    for receipt in receipts:
                        await receipt
                    assert [(await anext(sub)).content for _ in range(2)] == [b"before", b"after!"]

    asyncio.run(scenario())


def test_what_the_node_replies_is_the_callers_own() -> None:
    async def scenario() -> None:
        with place() as here:
            async with here.node("robot") as m:
                first = await m.call("info")
                first["metrics"].clear()
                assert (await m.call("info"))["metrics"]
                with pytest.raises(MeshError):
                    await m.call("info", nonsense=object())

    asyncio.run(scenario())
