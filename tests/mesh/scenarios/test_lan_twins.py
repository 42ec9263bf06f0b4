"""Of three machines with one name that start at once, does exactly one node go on?"""

import asyncio

import pytest

from tests.mesh.scenarios.lan import LanNode, eventually, lan_of

pytestmark = pytest.mark.slow


def runs(node: LanNode) -> bool:
    return node._process is not None and node._process.poll() is None


def test_of_three_machines_of_one_name_that_start_at_once_one_goes_on() -> None:
    async def story() -> None:
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

    asyncio.run(story())
