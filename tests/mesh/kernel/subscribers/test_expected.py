"""Persistent direct messages for sessions that are between two nodes, in memory."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.errors import NotConnected
from mesh.kernel.subscribers.expected import ExpectedSessions
from mesh.names import SessionName
from tests.mesh.features.drain.node.emptied import Emptied
from tests.mesh.kernel.subscribers.moves import CLIENT, Moves


async def send(it: Moves, text: str, to: str = "", node: str = "ibis") -> Any:
    return await it.publishers[node].send(to or it.joe.name, text.encode(), persistent=True)


async def visit(it: Moves, *order: str) -> None:
    it.visit(*order)
    await it.m.pass_time(5)
    assert it.home == order[0]


def test_messages_that_waited_for_a_restarted_home_wait_for_its_sessions(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        await it.m.pass_time(3)
        it.m.kill("heron")
        it.order = ["stork"]
        await it.m.pass_time(20)
        for n in range(20):
            sent = await send(it, f"{n}", "" if n % 2 else CLIENT)
            assert sent.state == "FORWARD_WARNING"
        it.m.cut("heron", "stork")  # the home knows of the move later than of the messages
        it.m.start("heron")
        await it.m.pass_time(10)
        assert it.direct == []
        it.m.heal()
        await it.m.pass_time(20)
        assert it.home == "stork"
        in_order = sorted(it.direct, key=lambda text: int(text) % 2)  # an inbox of the session, and of joe
        assert in_order == [f"{n}" for n in (*range(0, 20, 2), *range(1, 20, 2))]

    play(scenario)


def test_while_the_visited_node_is_cut_off_persistent_messages_wait_and_others_are_refused(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        await visit(it, "stork")
        it.m.cut("heron", "stork")
        await it.m.pass_time(15)
        await send(it, "1")
        await send(it, "2", CLIENT)
        with pytest.raises(NotConnected, match="may be moving"):
            await it.publishers["ibis"].send(it.joe.name, b"lost")
        it.m.heal()
        await it.m.pass_time(15)
        assert it.direct == ["1", "2"]

    play(scenario)


def test_law_1_after_linger_they_are_refused(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        await visit(it, "stork")
        it.m.cut("heron", "stork")
        it.order = ["nowhere"]
        it.m.kill("stork")
        await it.m.pass_time(15)
        await send(it, "1")
        await it.m.pass_time(70)
        with pytest.raises(NotConnected):
            await send(it, "lost")

    play(scenario)


def test_law_2_a_session_that_ended_at_the_visited_node_is_not_expected(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        await visit(it, "stork")
        it.m.cut("heron", "stork")
        await it.m.pass_time(15)
        it.joe._shell.core.close()
        it.m.heal()
        await it.m.pass_time(70)
        with pytest.raises(NotConnected):
            await send(it, "lost")

    play(scenario)


def test_of_a_drain_with_its_clients_no_message_is_refused(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        drain = Emptied(it.m)
        await drain.until(drain.is_heard)
        for _ in range(2):  # of the home, and of a visited node
            node = it.home
            sender = it.publishers["stork" if node == "ibis" else "ibis"]
            drain.ask(node, "begin")
            while it.home == node or len(it.direct) < len(it.answered):
                await sender.send(it.joe.name, b"%d" % len(it.answered), persistent=True)
                it.answered.append(f"{len(it.answered)}")
                await it.m.pass_time(0.01)
            drain.ask(node, "cancel")
        assert it.direct == it.answered

    play(scenario)


@pytest.mark.parametrize("node", ["heron", "stork"])
def test_for_a_redirected_session_they_wait_until_it_is_elsewhere(play: Any, node: str) -> None:
    async def scenario(it: Moves) -> None:
        await visit(it, node)
        session = it.m._nodes[node].core.parts.sessions.named(SessionName.parse(it.joe.name))
        assert session is not None
        session.is_moving = True
        it.visit("nowhere")
        await it.m.pass_time(1)
        await send(it, "1")
        it.order = ["ibis"]
        await it.m.pass_time(20)
        assert (it.home, it.direct) == ("ibis", ["1"])

    play(scenario)


def test_expected_sessions_by_client_and_by_name() -> None:
    it, one, two = ExpectedSessions(), *(SessionName("joe", n, "heron") for n in (1, 2))
    client = one.of_all_sessions()
    assert not it.includes(client, 0) and not it.includes(one, 0)
    it.expect(one, 10)
    assert it.includes(client, 10) and it.includes(one, 10) and not it.includes(two, 10)
    assert not it.includes(client, 11) and not it.includes(one, 11)
    it.expect(two, 20)
    it.drop_overdue(11)
    assert it.includes(client, 11) and not it.includes(one, 10)
    it.forget_session(two)
    it.forget_session(two)
    assert not it.includes(client, 11)
