"""Sites on hosts of their own, 20 ms apart: are all heard, asked and answered, also by others in between?"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

import pytest

import mesh
from mesh.client.client import Client
from tests.mesh.meshes import LIMIT, eventually
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.mesh.scenarios.joined import Joined, Plan, joined
from tests.mesh.scenarios.people import at, people, standing
from tests.mesh.scenarios.watching import becomes, metric, seen, told

pytestmark = pytest.mark.slow

STOCK = "STOCK"
WIRE = 0.02  # s each way
THREE = {"LON": 2, "NYC": 2, "SFO": 2}


def test_D2_who_reads_what_is_published_in_three_sites_answers_each_sender_by_a_letter() -> None:
    async def story(sites: Joined) -> None:
        async with people(sites.all()) as six, AsyncExitStack() as stack:
            ears = [await stack.enter_async_context(hearing(each.client, "quote", STOCK)) for each in six]
            for person in six:
                await person.client.publish("quote", person.node.name, domain=STOCK, persistent=True)
            for ear in ears:
                await ear.heard(6)
            for person, ear in zip(six, ears, strict=True):
                for message in ear.messages:
                    await person.client.send(message.sender, message.content)
            await eventually(lambda: all(len(person.letters) >= 6 for person in six))
            for person in six:
                await nothing_more(person.client, *ears, domain=STOCK)
            names = sorted(person.node.name.encode() for person in six)
            for person, ear in zip(six, ears, strict=True):
                assert sorted(ear.contents) == names
                assert [letter.content for letter in person.letters] == [person.node.name.encode()] * 6
                wanted = {sites.session(other.node, "joe", person.node) for other in six}
                assert {letter.sender.rpartition("/")[0] + "/" for letter in person.letters} == wanted
                assert {message.sender.rpartition("/")[0] + "/" for message in ear.messages} == wanted

    with joined(Plan(THREE, 'domains = ["STOCK"]\nletters = ["joe"]'), wire=WIRE) as sites:
        asyncio.run(story(sites))


def test_D3_each_of_six_asks_whoever_stands_for_each_of_three_sites() -> None:
    async def story(sites: Joined) -> None:
        async with people(sites.all()) as six, AsyncExitStack() as stack:
            masters = {site: nodes[0] for site, nodes in sites.nodes.items()}
            asked = {
                site: await stack.enter_async_context(standing(person, site.encode()))
                for site, master in masters.items()
                for person in six
                if person.node is master
            }
            pairs = [(person, site) for person in six for site in sites.nodes]
            replies = await asyncio.gather(
                *(
                    person.client.request(f"/site/{site}/master", person.node.name, timeout=LIMIT)
                    for person, site in pairs
                )
            )
            for (person, site), reply in zip(pairs, replies, strict=True):
                assert reply.content == (site + person.node.name).encode()
                assert reply.sender.startswith(sites.session(masters[site], "joe", person.node))
            names = sorted(person.node.name.encode() for person in six)
            assert {site: sorted(contents) for site, contents in asked.items()} == dict.fromkeys(THREE, names)
            views = await six[0].client.views()
            asking = (
                six[0].client.request(f"/site/{site}/master", b"all", timeout=LIMIT) for site in views.remote
            )
            of_all = sorted(reply.content for reply in await asyncio.gather(*asking))
            assert of_all == sorted(site.encode() + b"all" for site in THREE if site != views.site)
            for person in six:
                assert not person.letters

    with joined(Plan(THREE, 'serves = ["master"]'), wire=WIRE) as sites:
        asyncio.run(story(sites))


@pytest.mark.parametrize("gateways", [1, 2])
def test_D25_letters_and_requests_go_by_two_sites_and_are_answered_once_in_order(gateways: int) -> None:
    async def story(sites: Joined) -> None:
        c, z = sites.nodes["HF"][-1], sites.nodes["NET3"][-1]
        ten = [b"%d" % n for n in range(10)]
        async with people(sites.all()) as all_of_them, AsyncExitStack() as stack:
            of = {person.node: person for person in all_of_them}
            joe, ann = of[c], of[z]
            for content in ten:
                await joe.client.send(f"/site/NET3/node/{z.name}/client/joe", content)
            await eventually(lambda: len(ann.letters) >= 10)
            for letter in ann.letters:
                assert letter.sender.startswith(sites.session(c, "joe", z))
                await ann.client.send(letter.sender, b"re: " + letter.content)
            await eventually(lambda: len(joe.letters) >= 10)

            asked = await stack.enter_async_context(standing(ann, b"re: "))
            for content in ten:
                begun = time.monotonic()
                reply = await joe.client.request("/site/NET3/master", content, timeout=LIMIT)
                assert time.monotonic() - begun >= 6 * WIRE, "three wires, there and back"
                assert reply.content == b"re: " + content
                assert reply.sender.startswith(sites.session(z, "joe", c))
            assert [letter.content for letter in ann.letters] == asked == ten
            assert [letter.content for letter in joe.letters] == [b"re: " + content for content in ten]
            assert not [p for p in all_of_them if p.letters and p not in (joe, ann)]

    members = {"HF": gateways + 1, "NET1": gateways, "NET2": gateways, "NET3": gateways + 1}
    plan = Plan(members, 'letters = ["joe"]\nserves = ["site/*", "master"]', gateways, in_row=True)
    with joined(plan, wire=WIRE) as sites:
        asyncio.run(story(sites))


def test_D12_a_site_that_is_split_and_merged_is_reached_all_the_time_and_nothing_comes_twice() -> None:
    async def story(sites: Joined) -> None:
        assert sites.lab is not None
        (x,), halves = sites.nodes["NYC"], sites.nodes["LON"]
        hosts = [sites.host(node) for node in halves]
        async with at(x) as ann, at(halves[0]) as a, at(halves[1]) as b, hearing(ann, "quote", STOCK) as ear:
            await becomes(ann, "LON", "up", halves)
            sent: dict[Client, list[bytes]] = {a: [], b: []}

            async def go_on_until(state: str) -> None:
                """They publish all the time, until each half sees the other one so."""
                async with asyncio.timeout(LIMIT):
                    while not all([await sees(half, state) for half in sent]):
                        for half, contents in sent.items():
                            contents.append(b"%d of %d" % (len(contents), half is a))
                            await half.publish("quote", contents[-1], domain=STOCK)
                        assert await seen(ann, "LON") == ("up", sorted(node.name for node in halves))

            async def sees(half: Client, state: str) -> bool:
                return sorted(node.state for node in await half.nodes()) == sorted(("alive", state))

            sites.lab.part(*hosts)
            await go_on_until("dead")
            sites.lab.shape(*hosts)
            await go_on_until("alive")
            await becomes(ann, "LON", "up", halves)
            for half in sent:
                await nothing_more(half, ear, domain=STOCK)
            for number, contents in ((1, sent[a]), (0, sent[b])):
                assert contents and [c for c in ear.contents if c.endswith(b" of %d" % number)] == contents
            assert told(x, "LON") == ["up"] and not told(halves[0], "NYC")[1:] + told(halves[1], "NYC")[1:]

    with joined(Plan({"NYC": 1, "LON": 2}, 'domains = ["STOCK"]', gateways=2), wire=WIRE) as sites:
        asyncio.run(story(sites))


def test_D15_a_site_dies_before_it_has_a_letter_and_nobody_gets_it_and_it_is_not_sent_again() -> None:
    async def story(sites: Joined) -> None:
        assert sites.lab is not None
        (c, d), (a, b) = sites.nodes["NYC"], sites.nodes["LON"]
        to = f"/site/NYC/node/{d.name}/client/joe"
        async with people([a, b, c, d]) as (_, joe, *there):
            await becomes(joe.client, "NYC", "up", [c, d])
            sites.lab.part(sites.host(a), sites.host(c))
            sending = asyncio.create_task(joe.client.send(to, b"x", timeout=LIMIT))
            async with asyncio.timeout(LIMIT):
                while not await metric(joe.client, "forwarded"):
                    await asyncio.sleep(WIRE)
            d.kill()
            c.kill()
            assert (await sending).state == "FORWARD_WARNING", "it has left: nobody may call it refused"
            await becomes(joe.client, "NYC", "unreachable", [])
            with pytest.raises(mesh.SiteUnreachable):
                await joe.client.send(to, b"y")
            assert await metric(joe.client, "forwarded") == 1
            assert not [letter for person in there for letter in person.letters]

    with joined(Plan({"NYC": 2, "LON": 2}, 'letters = ["joe"]'), wire=WIRE) as sites:
        asyncio.run(story(sites))
