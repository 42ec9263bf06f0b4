"""The contents of messages, as the calls of a client write and read them."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from mesh.client.batch import Batch
from mesh.errors import BadArgument, BadType, MeshError
from mesh.features.queues.client.deadletters import PATTERN
from tests.mesh.client.contents import Model, Reading, Reversed, sent
from tests.mesh.client.wired import Wired, scenario, turns
from tests.mesh.meshes import in_memory, take


@scenario
async def test_bytes_are_left_as_they_are(it: Wired) -> None:
    for content in (b"1", bytearray(b"2"), memoryview(b"3")):
        it.client.post("k", content, codec="msgpack")
    [whole] = sent(it)
    assert (whole.contents(), whole.props) == ([b"1", b"2", b"3"], 0)


@scenario
async def test_a_text_is_marked_as_one_and_gets_no_header(it: Wired) -> None:
    for content in (b"1", "2", b"3", "4"):
        it.client.post("k", content)
    it.client.post("k", "5", headers={"a": "b"}, codec="msgpack")
    it.client.post("k", "[6]", headers={"content-type": "application/json"})
    [whole] = sent(it)
    assert whole.contents() == [b"1", b"2", b"3", b"4", b"5", b"[6]"]
    assert [m.value for m in Batch(whole)] == [b"1", "2", b"3", "4", "5", [6]]
    assert [len(m.headers) for m in Batch(whole)] == [0, 0, 0, 0, 1, 1]


@scenario
async def test_a_value_says_what_it_is_beside_the_headers_of_its_publisher(it: Wired) -> None:
    it.client.post("k", {"t": 1}, headers={"Mood": "fine"})
    it.client.post("k", Reading(2), codec="msgpack")
    it.client.post("k", b"3")
    it.client.post("k", [4], codec=Reversed(), headers={"a": "b"})
    found = list(Batch(sent(it)[0]))
    assert [m.headers.get("content-type") for m in found] == [
        "application/json",
        "application/msgpack",
        None,
        "text/x-reversed",
    ]
    assert [m.value for m in found[:3]] == [{"t": 1}, {"t": 2.0, "room": "hall"}, b"3"]
    assert (found[0].headers["mood"], found[3].headers["a"], found[3].content) == ("fine", "b", b"]4[")


@scenario
async def test_a_value_is_encoded_when_it_is_posted(it: Wired) -> None:
    value = {"t": 1}
    it.client.post("k", value)
    value["t"] = 2
    assert Batch(sent(it)[0])[0].value == {"t": 1}


@scenario
async def test_a_header_of_ones_own_may_say_it_more_exactly_and_nothing_else(it: Wired) -> None:
    it.client.post("k", {"t": 1}, headers={"content-type": "Application/JSON; charset=utf-8"})
    with pytest.raises(BadArgument, match="image/png"):
        it.client.post("k", {"t": 1}, headers={"Content-Type": "image/png"})
    [m] = Batch(sent(it)[0])
    assert (m.value, m.headers.all("content-type")) == ({"t": 1}, ("Application/JSON; charset=utf-8",))


def in_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


REFUSED: list[tuple[Any, type[MeshError]]] = [
    (object(), BadType),
    (Reading, BadType),
    ({(1, 2): 3}, BadType),
    (1j, BadType),
    ((x for x in "ab"), BadType),
    (math.nan, BadArgument),
    ({"a": [1, math.inf]}, BadArgument),
    ({math.nan: 1}, BadArgument),
    ({math.inf: 1}, BadArgument),
    (Model(math.nan), BadArgument),
    (["a\ud800b"], BadArgument),
    ({"\ud800": 1}, BadArgument),
    (10**5000, BadArgument),
    (in_itself(), BadArgument),
]


@scenario
async def test_a_value_that_no_codec_takes_is_refused_at_the_call_and_leaves_nothing_behind(
    it: Wired,
) -> None:
    for value, error in REFUSED:
        with pytest.raises(error, match="application/json") as caught:
            it.client.post("k", value)
        assert type(caught.value) is error and "codec=" in caught.value.hint
    it.client.post("k", b"1")
    assert sent(it)[0].contents() == [b"1"]


@scenario
async def test_many_are_written_by_the_codec_that_was_named(it: Wired) -> None:
    it.wire.is_deaf = True
    for contents in ([{"t": 1}], iter([{"t": 1}])):
        publishing = asyncio.ensure_future(it.client.publish_many("k", contents, codec="msgpack"))
        await turns()
        publishing.cancel()
    for nonsense in ("nonsense", 5):
        with pytest.raises(BadArgument):
            await it.client.publish_many("k", [b"x"], codec=nonsense)  # type: ignore[arg-type]
    kinds = [message.headers["content-type"] for e in sent(it) for message in Batch(e)]
    assert kinds == ["application/msgpack"] * 2


# --- contents of a client -------------------------------------------------------------------------------


async def _through_a_node() -> None:
    async with in_memory("a") as made, made.connect("a", client="joe", codec="msgpack") as m:
        async with m.subscribe(pattern="r/#", type=Reading) as s, m.inbox(type=Reading) as inbox:
            await m.publish("r/1", Reading(1))
            m.post("r/2", {"t": 2}, codec="json")
            assert await m.publish_many("r/3", [Reading(3), b"\x81\xa1t\x04", {"t": 5}]) == 3
            await m.publish_oneway("r/6", Reading(6))
            assert [x.value.t for x in await take(s, 6)] == [1, 2, 3, 4, 5, 6]
            await m.send("client/joe", Reading(7), domain="")
            await m.send(["client/joe"], Reading(8))
            assert [x.value.t for x in await take(inbox, 2)] == [7, 8]
        [found] = await m.get("r/1", type=Reading)
        assert (found.value, found.source) == (Reading(1), "a")
        assert (await m.get("r/1"))[0].value == {"t": 1.0, "room": "hall"}
        with pytest.raises(BadArgument, match="publish\\(\\)"):
            await m.publish_many("r/3", {"t": 1})


def test_values_go_through_a_node_by_every_verb() -> None:
    asyncio.run(_through_a_node())


async def _texts_through_a_node() -> None:
    async with in_memory("a") as made, made.connect("a", client="joe") as m:
        async with m.subscribe(pattern="r/#") as s, m.inbox() as inbox:
            await m.publish("r/1", "one")
            await m.publish_many("r/2", ["two", b"2"])
            await m.publish_oneway("r/3", "three")
            assert [x.value for x in await take(s, 4)] == ["one", "two", b"2", "three"]
            await m.send("client/joe", "four")
            assert [x.value for x in await take(inbox, 1)] == ["four"]
        assert [x.value for x in await m.get("r/1")] == ["one"]
        queue = m.queue("q")
        await queue.declare()
        await queue.put("five")
        job = await queue.get()
        assert job is not None and job.value == "five"
        async with m.subscribe(pattern=PATTERN) as dead:
            await job.reject()
            assert [x.value for x in await take(dead, 1)] == ["five"]
        async with m.serve("echo") as service:
            asking = asyncio.ensure_future(m.request("echo", "six"))
            request = await anext(aiter(service))
            await request.reply(request.value + "!")
            assert (await asking).value == "six!"


def test_a_text_is_read_as_text_whatever_verb_sent_it() -> None:
    asyncio.run(_texts_through_a_node())
