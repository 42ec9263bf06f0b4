"""Sites that go, come and begin anew: who is told, what is refused, and does all else get there once?"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

import pytest

import mesh
from mesh.client.client import Client
from tests.mesh.meshes import eventually
from tests.mesh.running import RunningNode, until
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.mesh.scenarios.joined import Joined, Plan, joined
from tests.mesh.scenarios.people import at, people
from tests.mesh.scenarios.watching import becomes, counts, metric, told

pytestmark = pytest.mark.slow

STOCK = "STOCK"
READS = 'domains = ["STOCK"]'


async def publish(client: Client, *texts: str, persistent: bool = True) -> None:
    for text in texts:
        await client.publish("quote", text, domain=STOCK, persistent=persistent)


def test_D9_a_site_that_starts_empty_is_sent_what_there_was_before_it_was_named_within_two_seconds() -> None:
    async def story(sites: Joined) -> None:
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
            begun = time.monotonic()
            for ear in ears:
                await ear.heard(1)
            assert time.monotonic() - begun < 2
            await there.publish("quote/1", b"3", domain=STOCK, persistent=True)
            await ears[0].heard(2)
            assert [(m.content, m.state) for m in ears[0].messages] == [(b"1", "INITIAL"), (b"3", "OK")]
            assert [(m.content, m.state) for m in ears[1].messages] == [(b"2", "INITIAL")]
            for n, content in ((1, b"3"), (2, b"2")):
                [value] = await here.get(f"quote/{n}", domain=STOCK)
                assert value.content == content
                assert value.sender.startswith(sites.session(nyc, "joe", lon))

    with joined(Plan({"LON": 1, "NYC": 1}, "")) as sites:
        asyncio.run(story(sites))


def test_D16_a_hundred_letters_and_requests_to_a_site_that_is_down_fail_and_those_at_home_arrive() -> None:
    async def story(sites: Joined) -> None:
        [gone] = sites.nodes["NYC"]
        gone.stop()
        until(lambda: told(sites.nodes["LON"][0], "NYC") == ["up", "down"])
        away = f"/site/NYC/node/{gone.name}/client/joe"
        async with people(sites.nodes["LON"]) as both:
            a, b = both
            await becomes(b.client, "NYC", "down", [])
            for person in (b, a):
                home = [person.client.send(f"/node/{a.node.name}/client/joe", b"%d" % n) for n in range(5)]
                letters = [person.client.send(away, b"x") for _ in range(100)]
                requests = [person.client.request("/site/NYC/master", b"x") for _ in range(100)]
                ended = await asyncio.gather(*home, *letters, *requests, return_exceptions=True)
                assert {type(each) for each in ended[:5]} == {mesh.Published}
                assert {type(each) for each in ended[5:]} == {mesh.SiteUnreachable} and len(ended) == 205
            await eventually(lambda: len(a.letters) >= 10)
            for n, person in enumerate((b, a)):
                for letter in a.letters[5 * n : 5 * n + 5]:
                    assert letter.sender.startswith(sites.session(person.node, "joe", a.node))
            assert not b.letters and len(a.letters) == 10
            for person in both:
                assert await metric(person.client, "tailed_back") == 0

    plan = Plan({"NYC": 1, "LON": 2}, 'letters = ["joe"]\nserves = ["master"]')
    with joined(plan) as sites:
        asyncio.run(story(sites))


def test_D20_who_takes_over_in_time_is_no_news_and_nothing_is_told_twice() -> None:
    async def story(sites: Joined) -> None:
        (d,), (g,), (a, b, c) = sites.nodes.values()
        async with at(d) as at_d, at(g) as at_g:

            async def are(*nodes: RunningNode, state: str = "up") -> None:
                for client in (at_d, at_g):
                    await becomes(client, "LON", state, list(nodes))

            await are(a, b, c)
            a.stop()
            await are(b, c)
            b.kill()
            await asyncio.to_thread(b.start)
            await are(b, c)
            c.stop()
            await are(b)
            for node in (d, g):
                assert told(node, "LON") == ["up"]
            b.stop()
            await are(state="down")
            await asyncio.to_thread(a.start)
            await are(a)
            for node, other in ((d, "SFO"), (g, "NYC")):
                until(lambda node=node: told(node, "LON") == ["up", "down", "up"])  # type: ignore[misc]
                assert told(node, other) == ["up"]

    with joined(Plan({"NYC": 1, "SFO": 1, "LON": 3}, READS, gateways=2)) as sites:
        asyncio.run(story(sites))


@pytest.mark.parametrize("lost", [(1, 4), (0, 4)], ids=["the second to the fourth", "the first four"])
@pytest.mark.parametrize("persistent", [True, False], ids=["persistent", "transient"])
def test_D21_D27_what_was_lost_on_its_way_comes_though_another_site_has_left(
    lost: tuple[int, int], persistent: bool
) -> None:
    async def story(sites: Joined) -> None:
        (gull,), (grebe, tern), (_, wren) = sites.nodes.values()
        first, last = lost
        texts = [str(n) for n in range(5)]
        async with at(wren) as joe, at(tern) as ann, hearing(ann, "quote", STOCK) as ear:
            await publish(joe, *texts[:first], persistent=persistent)
            await ear.heard(first)
            await counts(joe, "site_pending", 0)
            gull.stop()
            await becomes(joe, "NYC", "down", [])
            grebe.pause()  # what is sent to it is lost with it
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
        asyncio.run(story(sites))


def test_D30_a_site_that_says_goodbye_is_gone_at_once_and_gateways_keep_nothing_for_it() -> None:
    async def story(sites: Joined) -> None:
        [gull], gateways = sites.nodes["NYC"], sites.nodes["LON"][:2]
        heron, hawk, wren = sites.nodes["LON"]
        async with at(wren) as joe, at(heron) as at_heron, at(hawk) as at_hawk:
            await becomes(joe, "NYC", "up", [gull])
            begun = time.monotonic()
            gull.stop()
            for client in (joe, at_heron, at_hawk):
                await becomes(client, "NYC", "down", [])
            assert time.monotonic() - begun < 10, "and not when nothing was heard for 15 s"
            assert [told(node, "NYC") for node in gateways] == [["up", "down"]] * 2
            await publish(joe, "1", "2")
            heron.kill()
            await asyncio.to_thread(heron.start)
            async with at(heron) as anew:
                for client in (anew, at_hawk):
                    assert await metric(client, "site_pending") == 0
            assert await metric(joe, "site_pending") == 2
            await asyncio.to_thread(gull.start)
            async with at(gull) as ann, hearing(ann, "quote", STOCK) as ear:
                await counts(joe, "site_pending", 0)
                await nothing_more(joe, ear, domain=STOCK)
                assert ear.contents[-1:] == [b"2"] and ear.contents in ([b"1", b"2"], [b"2"])

    with joined(Plan({"NYC": 1, "LON": 3}, READS, gateways=2)) as sites:
        asyncio.run(story(sites))
