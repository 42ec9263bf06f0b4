"""Clients whose site ends go on at a node of another site, with the keys of that site, on real nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import mesh
from mesh.client.client import Client
from mesh.errors import LeaseOver
from tests.mesh.meshes import eventually
from tests.mesh.running import RunningNode, until
from tests.mesh.scenarios.hearing import hearing
from tests.mesh.scenarios.joined import Joined, Plan, joined

pytestmark = pytest.mark.slow

STOCK = "STOCK"


@pytest.fixture
def sites() -> Iterator[Joined]:
    """NYC of one node, and LON of two, whose clients may go to NYC."""
    with joined(Plan({"NYC": 1, "LON": 2}, f'domains = ["{STOCK}"]', moves=True)) as found:
        one, two = found.nodes["LON"]
        until(lambda: one.mesh("ls", "--url", two.name).stdout.count("alive") >= 2)
        yield found


def of_lon(sites: Joined, client: str, *names: str) -> Client:
    nodes = sites.nodes["LON"]
    return mesh.connect(*(names or [node.name for node in nodes]), client=client, environ=nodes[0].environ)


async def is_moved(client: Client, events: Any) -> bool:
    """Wait until a client is at another node, and return whether its session was resumed there."""
    async for event in events:
        if event.kind == "session_moved":
            return bool(event.resumed)
    raise AssertionError(f"{client.name} was closed")


def kill(nodes: list[RunningNode]) -> None:
    for node in nodes:
        node.kill()


def test_publishers_subscribers_and_consumers_of_a_killed_site_go_on_at_the_other(sites: Joined) -> None:
    lon, (nyc,) = sites.nodes["LON"], sites.nodes["NYC"]

    async def scenario() -> None:
        async with (
            mesh.connect(nyc.name, client="sue", environ=nyc.environ) as sue,
            hearing(sue, "k", STOCK) as there,
            of_lon(sites, "ann") as ann,
            of_lon(sites, "joe") as joe,
            hearing(joe, "k", STOCK) as ear,
        ):
            for client in (sue, ann):
                await client.queue("jobs").declare()
            async with joe.queue("jobs").consume(prefetch=2) as jobs:
                await ann.queue("jobs").put(b"of LON")
                held = await anext(jobs)
                for n in range(10):
                    await ann.publish("k", b"%d" % n, domain=STOCK, persistent=True)
                await there.heard(10)
                moves = [asyncio.ensure_future(is_moved(it, it.events())) for it in (ann, joe)]
                await asyncio.sleep(0)
                await asyncio.to_thread(kill, lon)
                waits = await asyncio.wait_for(
                    ann.publish("k", b"10", domain=STOCK, persistent=True, timeout=60), 60
                )
                assert waits.ok and await asyncio.gather(*moves) == [False, False]
                assert all(it.name.startswith(f"/node/{nyc.name}/client/") for it in (ann, joe))
                await eventually(lambda: b"10" in ear.contents)
                for n in range(11, 20):
                    await ann.publish("k", b"%d" % n, domain=STOCK, persistent=True)
                await eventually(lambda: b"19" in ear.contents and b"19" in there.contents)
                with pytest.raises(LeaseOver):
                    await held.ack()
                await sue.queue("jobs").put(b"of NYC")
                job = await anext(jobs)
                await job.ack()
                assert (job.content, job.redelivered) == (b"of NYC", False)
            for node in lon:
                await asyncio.to_thread(node.start)
            async with of_lon(sites, "eve") as eve, hearing(eve, "k", STOCK) as back:
                async with eve.queue("jobs").consume() as again:
                    job = await anext(again)
                    assert (job.content, job.redelivered) == (b"of LON", True)
                    await job.ack()
                await ann.publish("k", b"end", domain=STOCK, persistent=True)
                await eventually(lambda: b"end" in back.contents)
                await eve.publish("k", b"of eve", domain=STOCK, persistent=True)
                await eventually(lambda: b"of eve" in there.contents and b"of eve" in ear.contents)
            numbers = [b"%d" % n for n in range(20)]
            assert there.contents == [*numbers, b"end", b"of eve"], "nothing came twice"
            got = [each for each in ear.messages if each.content in numbers]
            if got[10].content == b"9":  # what NYC retained, as the subscription began anew
                assert got.pop(10).state == "INITIAL"
            assert [each.content for each in got] == numbers

    asyncio.run(scenario())


def test_a_client_returns_when_the_other_site_ends_and_one_without_its_keys_stays(sites: Joined) -> None:
    lon, (nyc,) = sites.nodes["LON"], sites.nodes["NYC"]

    async def scenario() -> None:
        async with of_lon(sites, "joe") as joe, of_lon(sites, "ann", lon[0].name) as ann:
            first, home = joe.name, joe.events()
            await asyncio.to_thread(kill, lon)
            assert not await is_moved(joe, home)
            await asyncio.to_thread(lon[0].start)
            await asyncio.to_thread(nyc.kill)
            await is_moved(joe, home)
            assert joe.name == first, "its session in LON"
            await joe.publish("k", b"back", domain=STOCK, persistent=True)
            await ann.publish("k", b"waited", domain=STOCK, persistent=True)
            assert ann.name.startswith(f"/node/{lon[0].name}/"), "a client that names one node waits for it"

    asyncio.run(scenario())
