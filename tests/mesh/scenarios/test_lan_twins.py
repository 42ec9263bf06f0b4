"""Machines with one name, or with one data directory: which node continues."""

import asyncio
import shutil
from pathlib import Path

import pytest

from tests.mesh.scenarios.lan import LanNode, eventually, lan_of

pytestmark = pytest.mark.slow


def runs(node: LanNode) -> bool:
    return node._process is not None and node._process.poll() is None


def test_of_three_machines_of_one_name_that_start_at_once_one_goes_on() -> None:
    async def scenario() -> None:
        async with lan_of(3) as lan:
            twins = list(lan.nodes.values())
            for twin in twins:
                twin.name = "twin"
                twin.start()
            await eventually(lambda: sum(map(runs, twins)) == 1)
            [left] = [twin for twin in twins if runs(twin)]
            assert sum("NAME_IN_USE" in twin.log for twin in twins) >= 2
            async with left.connect() as m:
                assert (await m.publish("k", b"v")).ok

    asyncio.run(scenario())


def test_a_copied_directory_that_starts_on_another_machine_stops_there_and_the_original_continues() -> None:
    async def scenario() -> None:
        async with lan_of(3) as lan:
            original, witness, copy = lan.nodes.values()
            await lan.start(1, 2)
            await lan.becomes({1: "alive"}, at=2)
            here, there = (Path(node.environ["MESH_STATE_DIR"]) for node in (original, copy))
            no_sockets = shutil.ignore_patterns("*.sock")
            shutil.copytree(here / "data" / "n1", there / "data" / "n3", ignore=no_sockets)
            copy.start()
            await eventually(lambda: not (runs(copy) and runs(original)))
            assert (runs(original), runs(copy)) == (True, False), original.log + copy.log
            assert "CONFLICT" in copy.log and "data directory may be a copy" in copy.log
            await lan.becomes({1: "alive"}, at=2)
            async with witness.connect() as m, original.connect() as at, at.subscribe("k") as subscription:

                async def is_delivered() -> bool:  # the two nodes log in again first
                    return bool((await m.publish("k", b"v")).matched)

                await eventually(is_delivered)
                assert (await anext(aiter(subscription))).content == b"v"

    asyncio.run(scenario())
