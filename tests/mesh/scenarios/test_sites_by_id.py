"""D5, D8 and D11: two sites of real nodes, with keys of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest

from mesh.client.client import Client
from mesh.features.sites.model.views import GRACE
from mesh.wire.limits import CHUNK
from tests.mesh.meshes import eventually
from tests.mesh.scenarios.hearing import Ear, hearing, nothing_more
from tests.mesh.scenarios.joined import Joined, Plan, joined
from tests.mesh.scenarios.people import Person, at, people
from tests.mesh.scenarios.watching import becomes, seen, told

STOCK = "STOCK"
RIGHTS = 'domains = ["STOCK"]\nletters = ["joe"]'
SIZES = [5000, CHUNK]  # bytes of contents; the second one and its header need two frames
HEADERS = {"unit": "C"}


@pytest.fixture(scope="module")
def four() -> Iterator[Joined]:
    """LON and NYC, of two nodes each."""
    with joined(Plan({"LON": 2, "NYC": 2}, RIGHTS)) as sites:
        yield sites


def test_D5_what_is_not_relayed_is_read_and_answered_in_its_site_only(four: Joined) -> None:
    async def scenario() -> None:
        async with people(four.all()) as everyone, AsyncExitStack() as stack:
            ears = [await stack.enter_async_context(hearing(p.client, "D5", STOCK)) for p in everyone]
            lon = everyone[:2]
            for person in lon:
                await person.client.publish("D5", person.node.name, domain=STOCK, relay=False)
            for ear in ears[:2]:
                await ear.heard(2)
            await answer_all(everyone[:2], ears[:2])
            await eventually(lambda: all(len(person.letters) >= 2 for person in lon))
            for person in everyone:
                await nothing_more(person.client, *ears, domain=STOCK)
            counts = [len(ear.messages) + len(p.letters) for ear, p in zip(ears, everyone, strict=True)]
            assert counts == [4, 4, 0, 0]
            assert [sorted(ear.contents) for ear in ears[:2]] == [[b"lon0", b"lon1"]] * 2

    asyncio.run(scenario())


async def answer_all(readers: list[Person], ears: list[Ear]) -> None:
    """Answer each message with a direct message to its sender."""
    for person, ear in zip(readers, ears, strict=True):
        for message in ear.messages:
            await person.client.send(message.sender, message.content)


@pytest.mark.parametrize("size", SIZES)
def test_D8_a_long_message_and_its_answer_arrive_whole_and_once(four: Joined, size: int) -> None:
    async def scenario() -> None:
        content = (b"0123456789" * (size // 10 + 1))[:size]
        sender, receiver = four.nodes["LON"][1], four.nodes["NYC"][1]
        async with people([sender, receiver]) as (joe, far), hearing(far.client, f"D8/{size}", STOCK) as ear:
            await joe.client.publish(f"D8/{size}", content, domain=STOCK, headers=HEADERS, persistent=True)
            await ear.heard(1)
            await far.client.send(ear.messages[0].sender, content, headers=HEADERS)
            await eventually(lambda: joe.letters)
            await joe.client.send(joe.letters[0].sender, content, headers=HEADERS)
            await eventually(lambda: far.letters)
            await nothing_more(joe.client, ear, domain=STOCK)
            assert ear.contents == [content]
            assert [letter.content for letter in (*joe.letters, *far.letters)] == [content, content]

    asyncio.run(scenario())


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_D11_a_site_that_leaves_and_returns_is_up_on_both_sides_and_stays_so(end: str) -> None:
    async def scenario(sites: Joined) -> None:
        (lon,), (sfo,) = sites.nodes.values()
        async with at(lon) as here, hearing(here, "D11", STOCK) as ear:
            await becomes(here, "SFO", "up", [sfo])
            getattr(sfo, end)()
            await becomes(here, "SFO", "down" if end == "stop" else "unreachable", [])
            lost = (await here.info()).uptime
            await here.publish("D11", b"waits", domain=STOCK)
            await asyncio.to_thread(sfo.start)
            await becomes(here, "SFO", "up", [sfo])
            async with at(sfo) as there, hearing(there, "D11", STOCK) as far:
                await becomes(there, "LON", "up", [lon])
                await far.heard(1)
                await there.publish("D11", b"back", domain=STOCK)
                await eventually(lambda: b"back" in ear.contents)
                if end == "kill":  # then a report of an unreachable site was due, and must not be made
                    await eventually(lambda: has_passed(here, lost + GRACE + 1.0))
                    assert await seen(here, "SFO") == ("up", [sfo.name])
                    assert await seen(there, "LON") == ("up", [lon.name])
                assert far.contents[0] == b"waits"
            reports = ["up", "down", "up"] if end == "stop" else ["up"]
            await eventually(lambda: told(lon, "SFO") == reports)

    with joined(Plan({"LON": 1, "SFO": 1}, RIGHTS)) as sites:
        asyncio.run(scenario(sites))


async def has_passed(client: Client, uptime: float) -> bool:
    """Return whether the client's node has run for that many seconds, after which no timer is left."""
    return (await client.info()).uptime >= uptime
