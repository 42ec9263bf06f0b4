"""The followers of a client's events, and the bound on the events that wait for a slow one."""

import asyncio

from mesh.client.events import KEPT, Event, Followers
from mesh.errors import NodeNotFound
from tests.mesh.client.core.benches import CoreBench


def test_who_follows_a_client_hears_its_end_whoever_closed_it_and_is_owed_no_more_than_so_many_events() -> (
    None
):
    async def ending() -> None:
        followers = Followers()
        first, second = followers.follow(), followers.follow()
        for number in range(KEPT + 5):
            followers.announce(Event("refused", str(number)))
        assert (await anext(first)).text == "5", "the oldest are gone"
        followers.announce(Event("closed", "its node failed"))
        assert [event.text async for event in second][-1] == str(KEPT + 4)
        assert [event async for event in followers.follow()] == []

    asyncio.run(ending())
    bench = CoreBench()
    bench.core.close(NodeNotFound("its node failed."))
    bench.wait()
    assert bench.told()[-1] == ("closed", "its node failed.")
