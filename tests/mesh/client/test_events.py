"""The followers of a client's events, and the bound on the events that wait for a slow one."""

import asyncio
import re
from pathlib import Path

import mesh
from mesh.client.events import KEPT, KINDS, WARNINGS, Event, Followers
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


def test_the_kinds_are_those_that_the_client_reports() -> None:
    package = Path(mesh.__file__).parent
    texts = [path.read_text() for path in package.rglob("client/**/*.py")]
    known = re.compile(r'(?:Report\(|_report\(|^KIND = )"([a-z_-]+)"', re.MULTILINE)
    assert {kind for text in texts for kind in known.findall(text)} - {"closed"} == set(KINDS)
    assert "connected" not in WARNINGS and "gap" in WARNINGS
