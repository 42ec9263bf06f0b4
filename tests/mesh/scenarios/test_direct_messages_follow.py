"""A19, A22, A23, A25, A26: direct messages to a session that has moved, on real nodes that are killed.

joe's home is heron; joe goes on at stork when heron is killed. ibis is the master of NEWS.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

import mesh
from mesh.client.subscription import Subscription
from mesh.errors import NotConnected
from tests.mesh.meshes import eventually, take
from tests.mesh.running import RunningNode
from tests.mesh.scenarios.flock import Flock, connected, flock_in

pytestmark = pytest.mark.slow
CLIENT = "/node/heron/client/joe"


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Flock]:
    with flock_in(tmp_path) as found:
        yield found


@asynccontextmanager
async def people(nodes: Flock) -> AsyncIterator[tuple[mesh.Client, Subscription, mesh.Client, mesh.Client]]:
    """Connect joe, who reads its inbox, and a sender at stork and at ibis."""
    async with AsyncExitStack() as stack:
        joe = await stack.enter_async_context(connected(nodes[0], "heron", "stork", client="joe", session=1))
        inbox = await stack.enter_async_context(joe.inbox())
        ann = await stack.enter_async_context(connected(nodes[0], "stork", client="ann", session=1))
        bob = await stack.enter_async_context(connected(nodes[0], "ibis", client="bob", session=1))
        yield joe, inbox, ann, bob


async def send_all(m: mesh.Client, to: str, first: int, last: int) -> None:
    for n in range(first, last):
        await m.send(to, b"%d" % n, persistent=True, force_queuing=True)


async def restart_home(heron: RunningNode, ann: mesh.Client) -> None:
    """Kill and start heron, so that joe is at stork."""
    await asyncio.to_thread(heron.kill)
    await eventually(partial(has_visitor, ann))
    await asyncio.to_thread(heron.start)


async def has_visitor(m: mesh.Client) -> bool:
    return (await m.info()).metrics["visits"] == 1


async def arrives(m: mesh.Client) -> bool:
    """Return whether joe's home knows where joe is connected."""
    try:
        return (await m.send(f"{CLIENT}/session/1", b"ping")).matched == 1
    except NotConnected:
        return False


async def contents(inbox: Subscription, count: int) -> dict[str, list[bytes]]:
    """Return the contents of the next messages by sender, without those of `arrives`."""
    found: dict[str, list[bytes]] = {}
    while sum(map(len, found.values())) < count:
        [message] = await take(inbox, 1)
        if message.content != b"ping":
            found.setdefault(message.sender, []).append(message.content)
    return found


def test_A19_A25_while_the_home_is_down_they_wait_and_come_once_in_order_to_the_visited_node(
    nodes: Flock,
) -> None:
    heron, numbers = nodes[0], [b"%d" % n for n in range(20)]

    async def scenario() -> None:
        async with people(nodes) as (joe, inbox, ann, bob):
            await asyncio.gather(send_all(ann, joe.name, 0, 5), send_all(bob, CLIENT, 0, 5))
            sending = asyncio.gather(send_all(ann, joe.name, 5, 15), send_all(bob, CLIENT, 5, 15))
            await restart_home(heron, ann)
            await sending
            await asyncio.gather(send_all(ann, joe.name, 15, 20), send_all(bob, CLIENT, 15, 20))
            got = await contents(inbox, 40)
            assert got == {ann.name: numbers, bob.name: numbers}
            assert (await ann.info()).metrics["collected_messages"] > 0, "joe is at stork"
            await bob.send(joe.name, b"end", domain="NEWS", persistent=True, force_queuing=True)
            assert await contents(inbox, 1) == {bob.name: [b"end"]}, "nothing came twice"

    asyncio.run(scenario())


def test_A22_A23_A26_the_name_still_names_the_home_and_all_sessions_of_a_client_get_it(nodes: Flock) -> None:
    heron = nodes[0]

    async def scenario() -> None:
        async with people(nodes) as (joe, inbox, ann, bob):
            await restart_home(heron, ann)
            await eventually(partial(arrives, bob))
            assert (await bob.send(joe.name, b"A22")).matched == 1
            assert (await ann.send(joe.name, b"A23", domain="NEWS")).matched == 1
            assert await contents(inbox, 2) == {bob.name: [b"A22"], ann.name: [b"A23"]}
            [found] = await bob.send(["xpath://client[@name='joe']"], b"by XPath")
            assert (found.destination, found.error) == (joe.name, None)
            assert await contents(inbox, 1) == {bob.name: [b"by XPath"]}
            async with connected(heron, "heron", client="joe", session=2) as other, other.inbox() as second:
                assert (await bob.send(CLIENT, b"both")).matched == 2
                assert (await bob.send(other.name, b"two")).matched == 1
                with pytest.raises(NotConnected, match="joe/session/3 is not connected"):
                    await bob.send(f"{CLIENT}/session/3", b"nobody")
                assert await contents(second, 2) == {bob.name: [b"both", b"two"]}
                assert await contents(inbox, 1) == {bob.name: [b"both"]}

    asyncio.run(scenario())


def test_A26_unread_messages_outlive_the_visited_node_and_requests_are_answered(nodes: Flock) -> None:
    heron, stork, _ = nodes

    async def scenario() -> None:
        async with people(nodes) as (joe, inbox, ann, bob), joe.serve("joe/echo") as service:
            await restart_home(heron, ann)
            await eventually(partial(arrives, bob))
            asked = asyncio.create_task(bob.request("joe/echo", b"moved"))
            request = await anext(aiter(service))
            await request.reply(request.content + b"!")
            assert (await asked).content == b"moved!"
            await send_all(bob, CLIENT, 0, 10)
            await asyncio.to_thread(stork.kill)
            await send_all(bob, joe.name, 10, 20)
            got = await contents(inbox, 20)
            assert sorted(got[bob.name], key=int) == [b"%d" % n for n in range(20)]
            await send_all(bob, joe.name, 20, 21)
            assert await contents(inbox, 1) == {bob.name: [b"20"]}, "nothing came twice"

    asyncio.run(scenario())
