"""C29, C30, E14, E15: headers, contents and inboxes between two processes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import mesh
from mesh.client.client import Client
from tests.mesh.meshes import LIMIT
from tests.mesh.scenarios.serving import Server, files_of
from tests.mesh.scenarios.topology import Processes, processes_of


@pytest.fixture(scope="module")
def c() -> Iterator[Processes]:
    with processes_of(files_of("a", "b")) as c:
        yield c


def at(c: Processes, name: str) -> Client:
    return c.connect(name, timeout=LIMIT)


@pytest.mark.parametrize("headers", [{}, {"unit": "C", "note": "hot"}], ids=["none", "two"])
def test_C29_a_consumer_gets_the_headers_of_the_sender_and_no_others(
    c: Processes, headers: dict[str, str]
) -> None:
    async def scenario() -> None:
        async with (
            at(c, "a") as ann,
            at(c, "b") as bob,
            bob.subscribe("C29/key", initial=False) as values,
            bob.subscribe("C29/durable", durable=f"C29-{len(headers)}") as kept,
            bob.inbox() as inbox,
            Server(bob, "C29") as server,
        ):
            for key in ("C29/key", "C29/durable"):
                await ann.publish(key, b"x", headers=headers)
            await ann.send(bob.name, b"x", headers=headers)
            reply = await ann.request("C29", b"x", headers=headers)
            arrived = [await anext(values), await anext(kept), await anext(inbox), *server.messages, reply]
            q, there = ann.queue(f"C29/{len(headers)}"), bob.queue(f"C29/{len(headers)}")
            await q.declare()
            async with there.consume() as jobs:
                await q.put(b"goes at once", headers=headers)
                await (first := await anext(jobs)).nack()
                arrived += [first, again := await anext(jobs)]
                assert again.redelivered
                await again.ack()
            await q.put(b"is moved", headers=headers)
            assert await q.move("b") == 1
            moved = await there.get(timeout=LIMIT)
            assert moved is not None
            await moved.ack()
            assert [dict(message.headers) for message in (*arrived, moved)] == [headers] * 8

    asyncio.run(scenario())


def test_C30_an_inbox_is_reached_from_another_node_until_its_session_ends(c: Processes) -> None:
    """A temporary queue is the inbox of a session here: it has one reader and ends with the session."""

    async def scenario() -> None:
        async with at(c, "b") as sender:
            async with at(c, "a") as reader:
                name = reader.name
                async with reader.inbox() as inbox:
                    for n in range(10):
                        assert (await sender.send(name, b"%d" % n)).matched == 1
                    letters = [await anext(inbox) for _ in range(10)]
                    assert [letter.content for letter in letters] == [b"%d" % n for n in range(10)]
                    assert {letter.sender for letter in letters} == {sender.name}
            with pytest.raises(mesh.NotConnected):
                await sender.send(name, b"10")

    asyncio.run(scenario())


def test_E14_values_of_one_header_keep_their_order_to_the_server_and_back(c: Processes) -> None:
    async def scenario() -> None:
        pairs = [(name, f"{name}{n}") for n, name in enumerate("abcdabcdab")]
        async with at(c, "a") as ann, at(c, "b") as bob, Server(bob, "E14") as server:
            async with bob.subscribe("E14/key") as values:
                await ann.publish("E14/key", b"", headers=pairs)
                reply = await ann.request("E14", b"", headers=pairs)
                for message in (await anext(values), server.messages[0], reply):
                    assert [len(message.headers.all(name)) for name in "abcd"] == [3, 3, 2, 2]
                    assert list(message.headers.items()) == pairs

    asyncio.run(scenario())


def test_E15_a_bad_value_is_refused_before_it_is_sent_or_when_it_is_read(c: Processes) -> None:
    async def scenario() -> None:
        async with at(c, "a") as ann, at(c, "b") as bob, Server(bob, "E15") as server:
            calls = list[list[int]]()

            @bob.service("E15/sum")
            async def total(numbers: list[int]) -> int:
                calls.append(numbers)
                return sum(numbers)

            async with bob.running(), bob.subscribe("E15/key", type=int) as values:
                for verb in (ann.request, ann.send, ann.publish):
                    with pytest.raises(mesh.BadType):
                        await verb("E15", object())
                for wrong in ({"a": 1}, ["one"], b"\xff"):
                    with pytest.raises(mesh.RequestFailed) as caught:
                        await ann.request("E15/sum", wrong)
                    assert caught.value.code == "BAD_CONTENT"
                assert (await ann.request("E15/sum", [1, 2])).value == 3
                assert calls == [[1, 2]]
                for value in ("one", 2):
                    await ann.publish("E15/key", value)
                with pytest.raises(mesh.BadContent):
                    (await anext(values)).value  # noqa: B018
                assert (await anext(values)).value == 2
            assert (await ann.request("E15", b"end")).content == b"re end"
            assert server.contents == [b"end"]

    asyncio.run(scenario())
