"""Sites that go, return and start anew: reports, refusals, and messages that still arrive once."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from mesh.client.client import Client
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.mesh.scenarios.joined import Joined, Plan, joined
from tests.mesh.scenarios.people import at
from tests.mesh.scenarios.watching import becomes, counts

pytestmark = pytest.mark.slow

STOCK = "STOCK"
READS = 'domains = ["STOCK"]'


async def publish(client: Client, *texts: str, persistent: bool = True) -> None:
    for text in texts:
        await client.publish("quote", text, domain=STOCK, persistent=persistent)


def test_D9_a_site_that_starts_empty_is_sent_what_there_was_before_it_was_named() -> None:
    async def scenario(sites: Joined) -> None:
        (lon,), (nyc,) = sites.nodes["LON"], sites.nodes["NYC"]
        async with at(nyc) as there, at(lon) as here, AsyncExitStack() as stack:
            ears = [await stack.enter_async_context(hearing(here, f"quote/{n}", STOCK)) for n in (1, 2)]
            for n in (1, 2):
                await there.publish(f"quote/{n}", b"%d" % n, domain=STOCK, persistent=True)
            for node, other in ((lon, "NYC"), (nyc, "LON")):
                file = node.state / f"{node.name}.toml"
                section = f"[sites.{other}]\n"
                file.write_text(file.read_text().replace(section, section + READS))
                said = await asyncio.to_thread(node.mesh, "config", "reload")
                assert said.returncode == 0, said
            assert await here.get("quote/1", domain=STOCK) == []
            said = await asyncio.to_thread(nyc.mesh, "relay", "sync", "LON")
            assert said.returncode == 0, said
            for ear in ears:
                await ear.heard(1)
            await there.publish("quote/1", b"3", domain=STOCK, persistent=True)
            await ears[0].heard(2)
            assert [(m.content, m.state) for m in ears[0].messages] == [(b"1", "INITIAL"), (b"3", "OK")]
            assert [(m.content, m.state) for m in ears[1].messages] == [(b"2", "INITIAL")]
            for n, content in ((1, b"3"), (2, b"2")):
                [value] = await here.get(f"quote/{n}", domain=STOCK)
                assert value.content == content
                assert value.sender.startswith(sites.session(nyc, "joe", lon))

    with joined(Plan({"LON": 1, "NYC": 1}, "")) as sites:
        asyncio.run(scenario(sites))


@pytest.mark.parametrize("lost", [(1, 4), (0, 4)], ids=["the second to the fourth", "the first four"])
@pytest.mark.parametrize("persistent", [True, False], ids=["persistent", "transient"])
def test_D21_D27_what_was_lost_on_its_way_comes_though_another_site_has_left(
    lost: tuple[int, int], persistent: bool
) -> None:
    async def scenario(sites: Joined) -> None:
        (gull,), (grebe, tern), (_, wren) = sites.nodes.values()
        first, last = lost
        texts = [str(n) for n in range(5)]
        async with at(wren) as joe, at(tern) as ann, hearing(ann, "quote", STOCK) as ear:
            await publish(joe, *texts[:first], persistent=persistent)
            await ear.heard(first)
            await counts(joe, "site_pending", 0)
            gull.stop()
            await becomes(joe, "NYC", "down", [])
            grebe.pause()  # messages sent to it are lost with it
            await publish(joe, *texts[first:last], persistent=persistent)
            await counts(joe, "site_pending", 2 * (last - first))
            grebe.kill()
            await asyncio.to_thread(grebe.start)
            await publish(joe, *texts[last:], persistent=persistent)
            await ear.heard(5)
            await counts(joe, "site_pending", 5 - first)
            assert ear.contents == [text.encode() for text in texts]
            await asyncio.to_thread(gull.start)
            async with at(gull) as eve, hearing(eve, "quote", STOCK) as late:
                await counts(joe, "site_pending", 0)
                await nothing_more(joe, ear, late, domain=STOCK)
                assert late.contents[-1:] == [b"4"]
                assert [message.sender for message in late.messages] == [ear.messages[0].sender] * len(
                    late.messages
                )
            assert ear.contents == [text.encode() for text in texts]

    with joined(Plan({"NYC": 1, "SFO": 2, "LON": 2}, READS)) as sites:
        asyncio.run(scenario(sites))
