"""Sites in a row, each a mesh of its own: is what one publishes read in all, whoever is killed between?"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

import mesh
from mesh.client.client import Client
from tests.mesh.running import LIMIT
from tests.mesh.scenarios.hearing import Ear, hearing
from tests.mesh.scenarios.joined import Joined, Plan, joined

pytestmark = pytest.mark.slow

STOCK = "STOCK"
ROW = ("HF", "NET1", "NET2", "NET3")


RIGHTS = f'domains = ["{STOCK}"]\nserves = ["site/*"]\nletters = ["#"]'


async def sees_all(client: Client, sites: Joined) -> bool:
    """Does its node see every node of each site?"""
    wanted = {(site, node.name) for site, nodes in sites.nodes.items() for node in nodes}
    return set((await client.views()).everywhere) == wanted


async def letters_of_all_to_all(it: Joined, users: dict[str, Client]) -> None:
    """Each sends one to each, itself too; all of them hold one of each."""
    sites = {node.name: site for site, nodes in it.nodes.items() for node in nodes}

    async def holds(user: Client) -> list[str]:
        async with user.inbox() as inbox:
            return [(await anext(inbox)).text for _ in users]

    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as tasks:
        held = [tasks.create_task(holds(user)) for user in users.values()]
        for name, user in users.items():
            for other, goal in users.items():
                away = f"/site/{sites[other]}" if sites[other] != sites[name] else ""
                assert (await user.send(f"{away}{goal.name}", name)).ok, (name, other)
    for each in held:
        assert sorted(each.result()) == sorted(users)


def test_D22_D23_D24_twelve_of_four_sites_see_and_hear_all_and_then_the_second_is_down_for_a_while() -> None:
    async def story(it: Joined) -> None:
        async with AsyncExitStack() as stack:
            users, ears = {}, dict[str, Ear]()
            for node in it.all():
                users[node.name] = await stack.enter_async_context(
                    mesh.connect(node.name, environ=node.environ)
                )
                ears[node.name] = await stack.enter_async_context(hearing(users[node.name], "quote", STOCK))
            async with asyncio.timeout(3):
                while not all([await sees_all(user, it) for user in users.values()]):
                    await asyncio.sleep(0.05)
            for name, user in users.items():
                await user.publish("quote", name.encode(), domain=STOCK, persistent=True)
            for ear in ears.values():
                await ear.heard(12)
            for ear in ears.values():
                assert sorted(ear.contents) == sorted(name.encode() for name in users)
            await letters_of_all_to_all(it, users)
            for node in it.nodes["NET1"]:
                node.kill()
            here = [*it.nodes["HF"], *it.nodes["NET3"]]
            for node in here:
                await users[node.name].publish("quote", b"again", domain=STOCK, persistent=True)
            there = [node.name for site in ("NET2", "NET3") for node in it.nodes[site]]
            for name in (*there, *(node.name for node in it.nodes["HF"])):
                await ears[name].heard(15)
            assert all(len(ears[node.name].contents) == 15 for node in (*it.nodes["HF"], *it.nodes["NET3"]))
            for node in it.nodes["NET1"]:
                await asyncio.to_thread(node.start)
            for name in (*there, *(node.name for node in it.nodes["HF"])):
                await ears[name].heard(18)

    with joined(Plan(dict.fromkeys(ROW, 3), RIGHTS, in_row=True)) as it:
        asyncio.run(story(it))


@pytest.mark.parametrize("persistent", [True, False], ids=["persistent", "transient"])
def test_gateways_of_the_site_in_the_middle_are_killed_in_turn_while_messages_flow(persistent: bool) -> None:
    async def story(it: Joined) -> None:
        first, second = it.nodes["NET1"]
        (hf,), (net2,) = it.nodes["HF"], it.nodes["NET2"]
        async with (
            mesh.connect(hf.name, environ=hf.environ) as here,
            mesh.connect(net2.name, environ=net2.environ) as there,
            hearing(there, "quote", STOCK) as ear,
        ):
            for n in range(300):
                await here.publish("quote", b"%d" % n, domain=STOCK, persistent=persistent)
                if n == 100:
                    first.kill()
                if n == 200:
                    await asyncio.to_thread(first.start)
                    second.kill()
            await ear.heard(300)
            assert ear.contents == [b"%d" % n for n in range(300)]
            assert [hop.node[:9] for hop in ear.messages[0].route][1] == "site:NET1"

    with joined(Plan({"HF": 1, "NET1": 2, "NET2": 1}, RIGHTS, gateways=2, in_row=True)) as it:
        asyncio.run(story(it))
