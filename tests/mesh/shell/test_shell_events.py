"""Limits on repeated reports of the shell."""

import asyncio

from mesh.kernel.context.repeats import SAY_AGAIN
from mesh.shell.damper import MOST
from tests.mesh.meshes import eventually, mesh_of
from tests.mesh.security.keyed import events


def test_a_node_that_is_knocked_at_by_thousands_tells_of_few() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m:
            a = m.nodes["a"]
            for number in range(100):
                a.driver.events.stranger(f"a connection from {number}")
                a.driver.events.report_event(
                    "advert", f"{number}: its authentication code is wrong", "warning"
                )
                a.driver.events.report_event("mdns", "multicast DNS on lo")
            # Only this node itself can cause these reports, so they are not limited.
            await eventually(lambda: len(events(a, "mdns")) == 100)
            assert len(events(a, "refused")) == len(events(a, "advert")) == MOST
            assert m.metric("a", "adverts_rejected") == 100
            a.driver.events.damper._told["refused"]._since -= SAY_AGAIN
            a.driver._tick_now()
            await eventually(lambda: len(events(a, "refused")) == MOST + 1)
            assert events(a, "refused")[-1] == "… and more: 84 in a minute"

    asyncio.run(scenario())
