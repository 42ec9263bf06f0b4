"""Rows 27 to 33: bad networks, on machines whose switch the test controls.

Every node publishes to every other all the time. In the end each has all messages, once and in order.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import combinations
from typing import Any

from tests.mesh.rows.traffic import Traffic, traffic
from tests.mesh.scenarios.lan import Lan, eventually, lan_of

HOSTS = (1, 2, 3)
RATE = 20  # messages a second of each node
LONG = 10 * RATE  # messages for longer than any silence of a node
SHAKY = 4 * RATE  # messages on an unreliable network
FLAPS = 5


@asynccontextmanager
async def busy_lan(rate: float = RATE) -> AsyncIterator[tuple[Lan, Traffic]]:
    """Three machines that all publish to each other.

    At the end the switch is repaired, and all messages are counted.
    """
    async with lan_of(len(HOSTS), switch=True) as lan, AsyncExitStack() as stack:
        await lan.start(*HOSTS)
        await lan.all_alive()
        clients = {node.name: await stack.enter_async_context(node.connect()) for node in lan.nodes.values()}
        async with traffic(clients, clients, rate) as t:
            yield lan, t
            lan.lab.join()
            await lan.all_alive()
            await t.settled()


async def deaths(lan: Lan, at: int) -> set[str]:
    """Return the nodes that this node has ever reported as dead."""
    async with lan.nodes[at].connect() as client:
        events = (await client.call("events"))["events"]
    return {event["node"] for event in events if event["kind"] == "dead"}


async def nobody_dies(lan: Lan) -> None:
    assert [await deaths(lan, at) for at in HOSTS] == [set(), set(), set()]


def test_row_27_both_sides_of_a_partition_go_on_and_have_everything_of_each_other_afterwards() -> None:
    async def scenario() -> None:
        async with busy_lan() as (lan, t):
            lan.lab.split([1], [2, 3])
            await lan.becomes({2: "dead", 3: "dead"}, at=1)
            await lan.becomes({1: "dead", 3: "alive"}, at=2)
            before = {ear.name: {name: len(them) for name, them in ear.heard.items()} for ear in t.ears}
            await t.post_more(LONG)
            for ear in t.ears:
                side = {"n1"} if ear.name == "n1" else {"n2", "n3"}
                grown = {name for name, them in ear.heard.items() if len(them) > before[ear.name][name]}
                assert grown == side

    asyncio.run(scenario())


def test_row_28_a_node_that_is_heard_by_one_and_not_by_another_is_not_called_dead() -> None:
    async def scenario() -> None:
        async with busy_lan() as (lan, t):
            lan.lab.cut_oneway(2, 1)
            await t.heard_more(LONG, "n3")  # the third node is not affected
            await nobody_dies(lan)

    asyncio.run(scenario())


def test_row_29_two_that_cannot_reach_each_other_have_all_of_the_third_and_later_of_each_other() -> None:
    async def scenario() -> None:
        async with busy_lan() as (lan, t):
            lan.lab.part(1, 2)
            await t.heard_more(LONG, "n3")
            await nobody_dies(lan)
            assert {row["state"] for at in HOSTS for row in (await lan.nodes[at].ls()).values()} <= {
                "alive",
                "suspect",
            }

    asyncio.run(scenario())


# Worse and worse. Delays are in s, chances hold for each packet.
WAYS: tuple[dict[str, Any], ...] = (
    {"loss": 0.01},
    {"loss": 0.05, "delay": 0.05, "jitter": 0.02},
    {"delay": 0.2, "jitter": 0.05},
    {"duplicate": 0.2, "reorder": 0.2},
    {"loss": 0.2},
)


def test_row_31_what_is_lost_late_doubled_or_out_of_order_in_the_network_is_not_so_above_it() -> None:
    async def scenario() -> None:
        async with busy_lan() as (lan, t):
            for way in WAYS:
                for one, other in combinations(HOSTS, 2):
                    lan.lab.shape(one, other, **way)
                await t.post_more(SHAKY)
                await t.heard_more(1)
            lan.lab.join()
            await t.heard_more(1)
            await nobody_dies(lan)

    asyncio.run(scenario())


def test_row_32_a_link_that_comes_and_goes_each_second_loses_nothing() -> None:
    async def scenario() -> None:
        async with busy_lan() as (lan, t):
            for _ in range(FLAPS):
                lan.lab.part(1, 2)
                await t.post_more(RATE)
                lan.lab.join()
                await t.post_more(RATE)
            await t.heard_more()
            await nobody_dies(lan)

    asyncio.run(scenario())


def test_row_33_a_connection_whose_other_end_is_gone_without_a_word_is_given_up_and_made_anew() -> None:
    async def scenario() -> None:
        async with busy_lan() as (lan, t):
            await t.heard_more()
            assert await data_links(lan, 1) == 2
            lan.lab.blackhole(2)

            async def is_given_up() -> bool:
                return await data_links(lan, 1) == 1

            await eventually(is_given_up)
            lan.lab.blackhole(2, False)
            await t.heard_more()
            assert await data_links(lan, 1) == 2

    asyncio.run(scenario())


async def data_links(lan: Lan, at: int) -> int:
    async with lan.nodes[at].connect() as client:
        return int((await client.call("info"))["metrics"]["data_links"])
