"""Sites in a row: messages of one reach all others, whichever gateway is killed."""

from __future__ import annotations

import asyncio

import pytest

import mesh
from tests.mesh.scenarios.hearing import hearing
from tests.mesh.scenarios.joined import Joined, Plan, joined

pytestmark = pytest.mark.slow

STOCK = "STOCK"
ROW = ("HF", "NET1", "NET2", "NET3")


RIGHTS = f'domains = ["{STOCK}"]\nserves = ["site/*"]\nletters = ["#"]'


@pytest.mark.parametrize("persistent", [True, False], ids=["persistent", "transient"])
def test_gateways_of_the_site_in_the_middle_are_killed_in_turn_while_messages_flow(persistent: bool) -> None:
    async def scenario(it: Joined) -> None:
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
        asyncio.run(scenario(it))
