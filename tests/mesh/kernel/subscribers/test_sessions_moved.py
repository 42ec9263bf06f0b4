"""Names of sessions that visit another node than their home: no second client gets them, in memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mesh.errors import MeshError
from tests.mesh.kernel.subscribers.moves import CLIENT, Moves


async def visit(it: Moves, *order: str) -> None:
    it.visit(*order)
    await it.m.pass_time(5)
    assert it.home == order[0]


async def code_of_login(it: Moves, number: int, name: str = "joe") -> str:
    """Return the code with which heron refuses a second client with this session, or ""."""
    it.is_opening = True
    try:
        async with it.m.connect("heron", client=name, session=number, timeout=5) as other:
            assert other.name == f"/node/heron/client/{name}/session/{number}"
            return ""
    except MeshError as error:
        return str(error.code)
    finally:
        it.is_opening = False


async def with_number(it: Moves, number: int, *order: str) -> Any:
    """Return a client of heron with a session number and an open inbox, after it moved with joe."""
    it.is_opening = True
    client = it.m.connect("heron", client="joe", session=number)
    await client.__aenter__()
    it.is_opening = False
    await client.inbox().__aenter__()
    client._shell.core.line.lose("moved by the test")
    await visit(it, *order)
    return client


def test_a_second_client_is_refused_until_the_first_one_has_ended(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        client = await with_number(it, 7, "stork")
        assert client._shell.core.line.home == "stork"
        assert await code_of_login(it, 7) == "SESSION_IN_USE"
        await client.__aexit__(None, None, None)
        await it.m.pass_time(1)
        assert await code_of_login(it, 7) == ""

    play(scenario)


def test_a_client_that_is_cut_off_with_its_node_keeps_its_name_for_linger(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        client = await with_number(it, 7, "stork")
        it.m.cut("heron", "stork")
        await it.m.pass_time(20)
        assert await code_of_login(it, 7) == "SESSION_IN_USE"
        await it.m.pass_time(70)
        assert await code_of_login(it, 7) == ""
        await client.__aexit__(None, None, None)

    play(scenario)


@pytest.mark.parametrize("node", ["stork", "ibis"])
def test_a_restarted_home_keeps_the_name_of_a_client_before_its_node_has_linked(play: Any, node: str) -> None:
    async def scenario(it: Moves) -> None:
        client = await with_number(it, 7, "stork")
        client._shell.core.line.lose("moved by the test")
        await visit(it, node)
        it.m.kill("heron")
        await it.m.pass_time(1)
        it.m.cut("heron", node)
        it.m.start("heron")
        await it.m.pass_time(3)
        assert await code_of_login(it, 7) == "SESSION_IN_USE"
        it.m.heal()
        await it.m.pass_time(20)
        assert await code_of_login(it, 7) == "SESSION_IN_USE"
        assert client._shell.core.line.home == node and client._shell.is_open
        await client.__aexit__(None, None, None)
        await it.m.pass_time(1)
        assert await code_of_login(it, 7) == ""

    play(scenario)


@pytest.mark.parametrize("kind", ["subscription", "inbox"])
def test_a_client_that_moved_while_its_home_was_down_keeps_its_name(play: Any, kind: str) -> None:
    async def scenario(it: Moves) -> None:
        async with it.m.connect("heron", client="ann", session=7) as client:
            reader: Any = client.inbox() if kind == "inbox" else client.subscribe("k")
            async with reader as messages:
                it.order = ["stork"]
                it.is_opening = False
                await (it.send("heron", "1", client.name) if kind == "inbox" else it.publish("ibis", "1"))
                it.m.kill("heron")
                await it.m.pass_time(20)
                assert client._shell.core.line.home == "stork"
                it.m.start("heron")
                login = asyncio.create_task(code_of_login(it, 7, "ann"))
                await it.m.pass_time(4)
                assert await login == "SESSION_IN_USE"
                assert client._shell.is_open
                if kind == "inbox":
                    assert (await anext(messages)).content == b"1"

    play(scenario)


@pytest.mark.parametrize("is_linked", [False, True])
def test_a_restarted_home_gives_a_name_away_after_linger_or_if_the_session_has_ended(
    play: Any, is_linked: bool
) -> None:
    async def scenario(it: Moves) -> None:
        client = await with_number(it, 7, "stork")
        it.m.kill("heron")
        if is_linked:
            await client.__aexit__(None, None, None)
        it.m.cut("heron", "stork")
        it.m.start("heron")
        await it.m.pass_time(10)
        assert await code_of_login(it, 7) == "SESSION_IN_USE"
        if is_linked:
            it.m.heal()
        await it.m.pass_time(10 if is_linked else 70)
        assert await code_of_login(it, 7) == ""
        if not is_linked:
            await client.__aexit__(None, None, None)

    play(scenario)


def test_a_client_whose_session_another_one_has_taken_is_refused(play: Any) -> None:
    events: list[str] = []

    async def read(client: Any) -> None:
        async for event in client.events():
            events.append(f"{event.kind}: {event.text}")

    async def scenario(it: Moves) -> None:
        client = await with_number(it, 7, "stork")
        reading = asyncio.create_task(read(client))
        it.m.cut("heron", "stork")
        await it.m.pass_time(90)  # longer than linger
        it.is_opening = True
        async with it.m.connect("heron", client="joe", session=7):
            it.is_opening = False
            it.m.heal()
            await it.m.pass_time(20)
            assert f"refused: {CLIENT}/session/7 is open at another node [SESSION_IN_USE]" in events
        await it.m.pass_time(90)
        assert (await it.publishers["ibis"].send(client.name, b"1")).matched == 1
        reading.cancel()
        await client.__aexit__(None, None, None)

    play(scenario)
