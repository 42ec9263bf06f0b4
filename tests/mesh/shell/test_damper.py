"""Is everything told once, and no flood at all?"""

import asyncio

from mesh.kernel.context.repeats import SAY_AGAIN
from mesh.shell.damper import MOST, Damper
from tests.mesh.meshes import eventually, mesh_of
from tests.mesh.security.keyed import events


def test_the_same_is_told_once_a_minute() -> None:
    damper = Damper()
    assert [damper.is_news("refused", "eve", now) for now in (0.0, 59.0, 60.0, 61.0)] == [1, 0, 1, 0]
    assert damper.take_suppressed(1e6) == []  # it was told


def test_a_flood_is_counted_and_its_count_told_when_the_minute_is_over() -> None:
    damper = Damper()
    told = [damper.is_news("refused", str(number), number / 1000) for number in range(5000)]
    assert sum(told) == MOST and all(told[:MOST])
    assert damper.is_news("advert", "0", 5.0)  # another kind
    assert damper.take_suppressed(SAY_AGAIN) == []
    assert damper.take_suppressed(SAY_AGAIN + 5) == [("refused", "… and more: 4,984 in a minute")]
    assert damper.take_suppressed(SAY_AGAIN + 5) == []
    assert damper.is_news("refused", "again", SAY_AGAIN + 5)


def test_a_node_that_is_knocked_at_by_thousands_tells_of_few() -> None:
    async def story() -> None:
        async with mesh_of("a") as m:
            a = m.nodes["a"]
            for number in range(100):
                a.driver.stranger(f"a connection from {number}")
                a.driver.report_event("advert", f"{number}: its authentication code is wrong", "warning")
                a.driver.report_event("mdns", "multicast DNS on lo")
            # Nobody but this node can have it say that.
            await eventually(lambda: len(events(a, "mdns")) == 100)
            assert len(events(a, "refused")) == len(events(a, "advert")) == MOST
            assert m.metric("a", "adverts_rejected") == 100
            a.driver.damper._told["refused"]._since -= SAY_AGAIN
            a.driver._tick_now()
            await eventually(lambda: len(events(a, "refused")) == MOST + 1)
            assert events(a, "refused")[-1] == "… and more: 84 in a minute"

    asyncio.run(story())
