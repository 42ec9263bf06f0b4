"""E1, E2, E4, E7 to E9, E18 and C30: servers and requesters at several processes of one mesh."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest

import mesh
from mesh.client.client import Client
from mesh.client.options import DeliveryMode
from tests.mesh.meshes import LIMIT
from tests.mesh.running import running
from tests.mesh.scenarios.serving import Server, files_of, known, knows
from tests.mesh.scenarios.topology import Processes, processes_of

NAMES = "abcde"
MODES: tuple[DeliveryMode, ...] = ("one", "all")


@pytest.fixture(scope="module")
def c() -> Iterator[Processes]:
    with processes_of(files_of(*NAMES)) as c:
        yield c


def at(c: Processes, name: str) -> Client:
    return c.connect(name, timeout=LIMIT)


def test_E1_a_local_server_gets_nothing_from_elsewhere(c: Processes) -> None:
    async def scenario() -> None:
        async with at(c, "a") as far, at(c, "b") as near, Server(near, "E1", local_only=True) as server:
            for delivery in MODES:
                with pytest.raises(mesh.NoHandlers):
                    await far.send("E1", b"far", delivery=delivery)
            async with far.gather("E1", b"far", timeout=LIMIT) as answers:
                assert [answer async for answer in answers] == []
            assert (await known(far, "E1"), await known(near, "E1")) == ({}, {"b": 1})
            assert (await near.request("E1", b"near")).content == b"re near"
            assert server.contents == [b"near"]

    asyncio.run(scenario())


def test_E2_of_two_messages_a_local_server_and_one_elsewhere_get_one_each_and_both_one_for_all(
    c: Processes,
) -> None:
    async def scenario() -> None:
        async with (
            at(c, "a") as here,
            at(c, "b") as there,
            Server(here, "E2", local_only=True) as local,
            Server(there, "E2") as remote,
        ):
            for n in range(2):
                await here.request("E2", b"%d" % n)
            assert sorted(local.contents + remote.contents) == [b"0", b"1"]
            assert len(local.contents) == len(remote.contents) == 1
            assert (await here.send("E2", b"all", delivery="all")).matched == 2
            await local.received(2)
            await remote.received(2)
            assert local.contents[1] == remote.contents[1] == b"all"

    asyncio.run(scenario())


def test_E4_local_only_messages_stay_and_a_reply_crosses_nodes(c: Processes) -> None:
    """A reply has no such option: it reaches its requester even if the server sends with `local_only`."""

    async def scenario() -> None:
        async with (
            at(c, "a") as here,
            at(c, "b") as there,
            Server(here, "E4", local_only=True) as local,
            Server(there, "E4") as remote,
            there.serve("E4/front") as front,
        ):
            await knows(here, "E4", a=1, b=1)
            for n in range(30):
                await here.send("E4", b"one %d" % n, local_only=True)
                sent = await here.send("E4", b"all %d" % n, local_only=True, delivery="all")
                assert sent.matched == 1
            await local.received(60)
            assert local.contents == [b"%s %d" % (to, n) for n in range(30) for to in (b"one", b"all")]
            asking = asyncio.create_task(here.request("E4/front", b""))
            request = await anext(front)
            reply = await there.request("E4", b"back", local_only=True)
            assert await request.reply(reply.content)
            assert (await asking).content == b"re back"
            assert remote.contents == [b"back"]

    asyncio.run(scenario())


def test_E7_a_server_that_left_is_asked_from_nowhere(c: Processes) -> None:
    async def scenario() -> None:
        async with at(c, "a") as ann, at(c, "b") as bob, Server(ann, "E7") as server:
            for asker in (ann, bob):
                assert (await asker.request("E7", b"1")).content == b"re 1"
            await server.leave()
            for asker in (ann, bob):
                await knows(asker, "E7")
                with pytest.raises(mesh.NoHandlers):
                    await asker.request("E7", b"2")
            assert server.contents == [b"1", b"1"]

    asyncio.run(scenario())


def test_E8_a_server_that_leaves_at_once_is_registered_first_and_then_gone(c: Processes) -> None:
    async def scenario() -> None:
        async with at(c, "a") as ann, at(c, "b") as bob:
            await knows(bob, "E8")  # from now on b is notified of servers
            service, done = ann.serve("E8"), list[str]()
            entering = asyncio.create_task(service.__aenter__(), name="enter")
            closing = asyncio.create_task(service.close(), name="close")
            for task in (entering, closing):
                task.add_done_callback(lambda task: done.append(task.get_name()))
            await asyncio.wait([entering, closing])
            await asyncio.sleep(0)  # runs the callbacks
            assert done == ["enter", "close"]
            assert isinstance(entering.exception(), mesh.Closed | None) and closing.exception() is None
            for asker in (ann, bob):
                await knows(asker, "E8")
                with pytest.raises(mesh.NoHandlers):
                    await asker.request("E8", b"1")

    asyncio.run(scenario())


def test_E9_a_send_fails_without_a_server_and_with_one_whose_node_was_killed(c: Processes) -> None:
    """Vert.x reports a failed connection; a node that is killed is such a one for Heronry's senders."""

    async def scenario() -> None:
        with running("dying", beside=c["a"]) as dying:
            async with at(c, "b") as sender:
                for delivery in MODES:
                    with pytest.raises(mesh.NoHandlers) as caught:
                        await sender.send("E9", b"0", delivery=delivery)
                    assert caught.value.code == "NO_HANDLERS"
                client = mesh.connect("dying", environ=c.environ, timeout=LIMIT)
                async with client, Server(client, "E9") as server:
                    await knows(sender, "E9", dying=1)
                    for delivery in MODES:
                        assert (await sender.send("E9", b"1", delivery=delivery)).matched == 1
                    await server.received(2)
                    assert server.contents == [b"1", b"1"]
                    dying.kill()
                    for delivery in MODES:
                        with pytest.raises((mesh.NoHandlers, mesh.HandlerLost)):
                            await sender.send("E9", b"2", delivery=delivery)
                    dying.start()
                    await knows(sender, "E9", dying=1)
                    assert (await sender.send("E9", b"3")).ok
                    await server.received(3)
                    assert server.contents[2:] == [b"3"]

    asyncio.run(scenario())


def test_E18_servers_at_four_nodes_get_ten_each_in_turn_and_each_one_for_all(c: Processes) -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(at(c, name)) for name in "abcd"]
            servers = [await stack.enter_async_context(Server(m, "E18")) for m in clients]
            await knows(clients[0], "E18", a=1, b=1, c=1, d=1)
            for n in range(40):
                await clients[0].request("E18", b"%d" % n)
            assert [len(server.contents) for server in servers] == [10] * 4
            assert sorted(int(n) for server in servers for n in server.contents) == list(range(40))
            for n in range(3):
                assert (await clients[0].send("E18", b"all %d" % n, delivery="all")).matched == 4
            for server in servers:
                await server.received(13)
            assert [server.contents[10:] for server in servers] == [[b"all 0", b"all 1", b"all 2"]] * 4

    asyncio.run(scenario())


def test_C30_ten_requests_from_each_of_five_nodes_have_ten_replies(c: Processes) -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(at(c, name)) for name in NAMES]
            server = await stack.enter_async_context(Server(clients[0], "C30"))
            for m in clients:
                for n in range(10):
                    reply = await m.request("C30", b"%d" % n)
                    assert (reply.content, reply.sender) == (b"re %d" % n, clients[0].name)
            assert [message.sender for message in server.messages] == [
                m.name for m in clients for _ in range(10)
            ]

    asyncio.run(scenario())
