"""Direct messages of a session that visits another node than its home, in memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.errors import NotConnected
from mesh.kernel.subscribers.collection import Collection
from mesh.wire.calls import AskCollect
from mesh.wire.commands import Certificate
from tests.mesh.kernel.subscribers.moves import CLIENT, Moves


async def visit(it: Moves, *order: str) -> None:
    it.visit(*order)
    await it.m.pass_time(5)
    assert it.home == order[0]


def figure(it: Moves, node: str, name: str) -> float:
    return it.m._nodes[node].core.parts.context.figures()[name]


def test_what_waits_and_what_is_new_comes_to_the_visited_node_in_order(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        it.opening.cancel()  # joe reads nothing
        for n in range(3):
            await it.send("stork", f"{n}")
        await visit(it, "stork")
        for n in range(3, 6):
            await it.send(("stork", "ibis", "heron")[n % 3], f"{n}", CLIENT if n % 2 else "")
            await it.m.pass_time(1)
        assert figure(it, "heron", "stored_envelopes") == 6, "law 2: the home has them"
        assert figure(it, "stork", "stored_envelopes") == 0
        it.opening = asyncio.create_task(it._read(it.inbox, it.direct))
        await it.m.pass_time(2)
        assert it.direct == [f"{n}" for n in range(6)]
        assert it.figures() == {}

    play(scenario)


def test_a_transient_message_is_matched_and_comes_too(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        await visit(it, "stork")
        sent = await it.publishers["ibis"].send(it.joe.name, b"now")
        assert (sent.state, sent.matched) == ("OK", 1)
        await it.m.pass_time(1)
        assert it.direct == ["now"]

    play(scenario)


def test_unread_messages_outlive_the_visited_node_and_the_home(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        it.opening.cancel()
        await visit(it, "stork")
        for n in range(5):
            await it.send("ibis", f"{n}")
        await it.m.pass_time(1)
        it.m.kill("heron")
        it.m.kill("stork")
        it.order = ["ibis"]
        await it.m.pass_time(20)
        it.m.start("heron")
        it.opening = asyncio.create_task(it._read(it.inbox, it.direct))
        await it.m.pass_time(20)
        assert (it.home, it.direct) == ("ibis", [f"{n}" for n in range(5)])
        assert figure(it, "heron", "stored_envelopes") == 0

    play(scenario)


def test_while_the_home_is_down_they_wait_for_it(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        await visit(it, "stork")
        it.m.kill("heron")
        await it.m.pass_time(30)
        sent = await it.publishers["ibis"].send(it.joe.name, b"waits", persistent=True, force_queuing=True)
        assert sent.state == "FORWARD_WARNING"
        it.m.start("heron")
        await it.m.pass_time(30)
        assert (it.direct, it.home) == (["waits"], "stork")

    play(scenario)


def test_a_message_for_the_client_goes_to_each_of_its_sessions_wherever_they_are(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        other: list[str] = []
        it.is_opening = True
        async with it.m.connect("heron", client="joe", session=7) as joe, joe.inbox() as inbox:
            it.is_opening = False
            reading = asyncio.create_task(it._read(inbox, other))
            await visit(it, "stork")
            sent = await it.publishers["ibis"].send(CLIENT, b"both")
            one = await it.publishers["ibis"].send(CLIENT, b"one", delivery="one")
            await it.m.pass_time(1)
            assert (sent.matched, one.matched) == (2, 1)
            assert sorted(it.direct + other) == ["both", "both", "one"]
            assert "both" in it.direct and "both" in other
            reading.cancel()

    play(scenario)


def test_a_session_that_ended_or_is_disconnected_at_the_visited_node_is_not_connected(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        await visit(it, "stork")
        it.visit("nowhere")
        await it.m.pass_time(1)
        with pytest.raises(NotConnected):
            await it.publishers["ibis"].send(it.joe.name, b"lost")
        await it.send("ibis", "waits", CLIENT)
        it.order = ["stork"]
        await it.m.pass_time(30)
        assert it.direct == ["waits"]
        it.joe._shell.core.close()
        await it.m.pass_time(1)
        assert figure(it, "heron", "inboxes_remote") == figure(it, "stork", "inboxes_collected") == 0
        with pytest.raises(NotConnected):
            await it.publishers["ibis"].send(it.joe.name, b"lost")

    play(scenario)


def test_many_waiting_messages_come_in_order_and_few_of_them_are_at_the_visited_node(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        it.opening.cancel()
        await visit(it, "stork")
        sending = asyncio.gather(*(it.send("ibis", f"{n:4000}") for n in range(2000)))
        await it.m.pass_time(5)
        await sending
        await it.m.pass_time(10)
        [collected] = it.m._nodes["stork"].core.parts.subscribing._inboxes._collections.values()
        most = collected.feed.credit.bytes
        assert 0 < collected.feed.waiting_bytes < 2 * most, "the others are at the home alone"
        it.opening = asyncio.create_task(it._read(it.inbox, it.direct))
        await it.m.pass_time(20)
        assert [int(text) for text in it.direct] == list(range(2000))
        assert it.figures() == {}

    play(scenario)


def test_a_home_that_restarts_sends_nothing_twice(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        await visit(it, "stork")
        it.opening.cancel()
        for n in range(10):
            await it.send("ibis", f"{n}")
        await it.m.pass_time(1)
        it.m.kill("heron")
        await it.m.pass_time(1)
        it.m.start("heron")
        await it.m.pass_time(10)
        it.opening = asyncio.create_task(it._read(it.inbox, it.direct))
        await it.m.pass_time(10)
        assert (it.direct, it.figures()) == ([f"{n}" for n in range(10)], {})

    play(scenario)


def test_a_cut_between_the_home_and_the_visited_node_delays_them(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        await visit(it, "stork")
        it.m.cut("heron", "stork")
        for n in range(3):
            await it.send("ibis", f"{n}")
        await it.m.pass_time(15)
        assert it.direct == []
        with pytest.raises(NotConnected):
            await it.publishers["ibis"].send(it.joe.name, b"lost")
        it.m.heal()
        await it.m.pass_time(15)
        assert (it.direct, it.figures()) == (["0", "1", "2"], {})

    play(scenario)


def test_a_moved_session_sends_requests_and_answers_them(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        ann = it.publishers["ibis"]

        async def answer(service: Any) -> None:
            async for request in service:
                await request.reply(request.content + b"!")

        async with ann.serve("ann/echo") as one, it.joe.serve("joe/echo") as two:
            tasks = [asyncio.create_task(answer(service)) for service in (one, two)]
            await visit(it, "stork")
            asked = [asyncio.create_task(it.joe.request("ann/echo", b"1"))]
            asked.append(asyncio.create_task(ann.request("joe/echo", b"2")))
            await it.m.pass_time(2)
            assert [task.done() and task.result().content for task in asked] == [b"1!", b"2!"]
            assert (await it.joe.send(it.joe.name, b"to myself")).matched == 1
            await it.m.pass_time(1)
            assert it.direct == ["to myself"]
            for task in tasks:
                task.cancel()

    play(scenario)


def test_a_session_keeps_its_inbox_with_another_key_also_after_a_restart_of_the_home(
    play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = Collection.question

    def with_key(it: Collection, certificate: Certificate) -> AskCollect:
        return replace(question(it, certificate), user="the key over TCP")

    monkeypatch.setattr(Collection, "question", with_key)

    async def scenario(it: Moves) -> None:
        await visit(it, "stork")
        sent = await it.publishers["ibis"].send(it.joe.name, b"1")
        assert sent.matched == 1
        it.m.kill("heron")
        await it.send("ibis", "2", CLIENT)
        it.m.start("heron")
        await it.m.pass_time(20)
        assert it.direct == ["1", "2"]

    play(scenario)
