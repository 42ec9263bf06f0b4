"""Machines on a LAN find each other, lose each other and meet again, without any setting."""

import asyncio

import pytest

from tests.mesh.scenarios.lan import eventually, lan_of


def test_three_see_each_other_although_each_has_two_dead_interfaces() -> None:
    async def scenario() -> None:
        async with lan_of(3, dead=2) as lan:
            await lan.start(1, 2, 3)
            await eventually(lambda: all(len(node.joined) == 2 for node in lan.nodes.values()))
            await lan.all_alive()
            seen = await lan.nodes[1].ls()
            assert {row["via"] for row in seen.values()} <= {"mdns", "gossip", "hello"}
            assert "mdns" in {row["via"] for row in seen.values()}
            await lan.all_hear_all()

    asyncio.run(scenario())


def test_after_a_partition_longer_than_the_timeout_everything_reaches_everything_without_a_restart() -> None:
    async def scenario() -> None:
        async with lan_of(3) as lan:
            await lan.start(1, 2, 3)
            await lan.all_alive()
            lan.lab.split([1], [2, 3])
            await lan.becomes({2: "dead", 3: "dead"}, at=1)
            await lan.becomes({1: "dead", 3: "alive"}, at=2)
            await lan.becomes({1: "dead", 2: "alive"}, at=3)
            lan.lab.join()
            await lan.all_alive()
            await lan.all_hear_all()

    asyncio.run(scenario())


def test_a_partition_at_start_heals_too() -> None:
    async def scenario() -> None:
        async with lan_of(3) as lan:
            lan.lab.split([1], [2, 3])
            await lan.start(1, 2, 3)
            await lan.becomes({3: "alive"}, at=2)
            await lan.up_for(3.0)  # by then all first announcements are over
            await lan.becomes({}, at=1)
            lan.lab.join()
            await lan.all_alive()
            await lan.all_hear_all()

    asyncio.run(scenario())


def test_a_node_that_is_killed_and_restarted_at_once_is_another_boot_everywhere() -> None:
    async def scenario() -> None:
        async with lan_of(3) as lan:
            await lan.start(1, 2, 3)
            await lan.all_alive()
            before = (await lan.nodes[1].ls())[3]
            lan.nodes[3].kill()
            await lan.start(3)
            await lan.all_alive()
            for host in (1, 2):
                seen = (await lan.nodes[host].ls())[3]
                assert (seen["uuid"], seen["boot"]) == (before["uuid"], before["boot"] + 1)
                # If its first address needs longer than its head start, the other one may be used.
                assert seen["address"].startswith((before["address"], "tcp://[fe80::")), seen["address"]
            await lan.all_hear_all()

    asyncio.run(scenario())


@pytest.mark.smoke
def test_a_machine_whose_cable_is_pulled_and_plugged_in_again_comes_back() -> None:
    async def scenario() -> None:
        async with lan_of(2) as lan:
            await lan.start(1, 2)
            await lan.all_alive()
            lan.lab.cut(1)
            await lan.becomes({2: "dead"}, at=1)
            await lan.becomes({1: "dead"}, at=2)
            lan.lab.heal(1)
            await lan.all_alive()
            await lan.all_hear_all()

    asyncio.run(scenario())


def test_where_multicast_is_lost_nothing_is_found_without_a_seed_and_one_seed_finds_all() -> None:
    async def scenario() -> None:
        async with lan_of(3) as lan:
            lan.lab.lose_multicast()
            await lan.start(1, 2, 3)
            await lan.up_for(4.0)  # twice as long as it takes where multicast goes through
            for node in lan.nodes.values():
                assert await node.ls() == {}
            for host in (2, 3):
                async with lan.nodes[host].connect() as m:
                    assert await m.call("peer", add=lan.nodes[1].address) == {"changed": True}
            await lan.all_alive()
            seen = await lan.nodes[2].ls()
            assert seen[1]["via"] == "seed"
            assert seen[3]["via"] in ("gossip", "hello")
            await lan.all_hear_all()

    asyncio.run(scenario())
