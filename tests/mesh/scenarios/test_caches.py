"""What a slave caches: for how long, and without a subscriber."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.mesh.meshes import eventually
from tests.mesh.scenarios.hearing import hearing
from tests.mesh.scenarios.topology import FRODO, HERON, RUGBY, Processes, processes_of


@pytest.fixture(scope="module")
def c() -> Iterator[Processes]:
    rule = 'domains = ["RUGBY_NEWS", "SOCCER_NEWS"]\n'
    assert rule in FRODO
    slave = FRODO.replace(rule, f"{rule}cache_ttl = 1\ncache_linger = 8\n")
    with processes_of({"heron": HERON, "frodo": slave}) as c:
        yield c


@pytest.mark.slow
def test_a_copy_ends_after_its_time_and_a_subscription_after_its_linger(c: Processes) -> None:
    async def scenario() -> None:
        async with c.connect("frodo", client="f") as f, c.connect("heron", client="h") as h:

            async def source() -> str:
                [message] = await f.get("k", domain=RUGBY)
                return message.source

            async def upstream() -> int:
                return int((await h.info()).metrics["upstream_queries"])

            await h.publish("k", b"1", domain=RUGBY)
            async with hearing(f, "k", RUGBY) as ear:
                await ear.heard(1)

                async def is_cached() -> bool:
                    return await source() == "frodo"

                async def is_over() -> bool:
                    return await source() == "heron"

                await eventually(is_cached)
                await eventually(is_over)  # nothing was published since
            assert await upstream() == 2, "of the reader and of the marks; both have ended"

            async def is_unsubscribed() -> bool:
                return await upstream() == 0

            await eventually(is_unsubscribed)

    asyncio.run(scenario())
