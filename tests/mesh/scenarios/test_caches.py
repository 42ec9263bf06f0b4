"""The copies at a slave and their lifetime, and the history at a master."""

import asyncio
from collections.abc import Iterator

import pytest

from mesh.errors import MasterAway
from tests.mesh.meshes import eventually, take
from tests.mesh.scenarios.hearing import hearing
from tests.mesh.scenarios.topology import FRODO, HERON, RUGBY, Processes, processes_of


@pytest.fixture(scope="module")
def c() -> Iterator[Processes]:
    rule = 'domains = ["RUGBY_NEWS", "SOCCER_NEWS"]\n'
    assert rule in FRODO
    assert rule in HERON
    slave = FRODO.replace(rule, f"{rule}cache_ttl = 1\ncache_linger = 8\n")
    with processes_of({"heron": HERON.replace(rule, f"{rule}history = 3\n"), "frodo": slave}) as c:
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


@pytest.mark.slow
def test_a_subscriber_behind_a_slave_begins_with_the_history_that_survives_kill_9(c: Processes) -> None:
    async def scenario() -> None:
        async with c.connect("frodo", client="f") as f:
            for n in range(5):
                await f.publish("h", b"%d" % n, domain=RUGBY, persistent=True)
            await asyncio.to_thread(c["heron"].kill)
            await asyncio.to_thread(c["heron"].start)

            async def is_back() -> bool:
                try:
                    found = await f.get("h", domain=RUGBY, history=9)
                except MasterAway:
                    return False
                return [m.content for m in found] == [b"2", b"3", b"4"]

            await eventually(is_back)
            async with f.subscribe("h", domain=RUGBY, history=2) as messages:
                assert [(m.content, m.state) for m in await take(messages, 2)] == [
                    (b"3", "INITIAL"), (b"4", "INITIAL")
                ]  # fmt: skip
                await f.publish("h", b"5", domain=RUGBY)
                assert [(m.content, m.state) for m in await take(messages, 1)] == [(b"5", "OK")]
                assert await f.erase("h", domain=RUGBY, history_only=True) == ["h"]
                await f.publish("h", b"6", domain=RUGBY)
                assert [(m.content, m.state) for m in await take(messages, 1)] == [(b"6", "OK")]
            assert [m.content for m in await f.get("h", domain=RUGBY, history=9)] == [b"6"]

    asyncio.run(scenario())
