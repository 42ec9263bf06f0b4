"""A client whose node ends goes on at another one, with its subscriptions, on real nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.errors import MeshError
from tests.mesh.meshes import eventually
from tests.mesh.scenarios.flock import Flock, connected, flock_in

pytestmark = pytest.mark.slow


@pytest.fixture
def flock(tmp_path: Path) -> Iterator[Flock]:
    with flock_in(tmp_path) as nodes:
        yield nodes


def test_a_client_of_a_killed_node_misses_nothing_at_another(flock: Flock) -> None:
    heron = flock[0]

    async def scenario() -> list[bytes]:
        got = list[bytes]()
        async with (
            connected(heron, "heron", "stork", client="joe") as joe,
            connected(heron, "ibis", client="pub") as publisher,
            joe.subscribe("k", domain="NEWS") as sub,
        ):

            async def read() -> None:
                async for message in sub:
                    got.append(message.content)

            reading = asyncio.create_task(read())
            for n in range(40):
                if n == 10:
                    await asyncio.to_thread(heron.kill)
                await publisher.publish("k", b"%d" % n, domain="NEWS", persistent=True)
            while len(got) < 40:
                await asyncio.sleep(0.05)
            assert joe.name.startswith("/node/heron/"), "the session keeps its name"
            await joe.publish("from joe", b"x", domain="NEWS", persistent=True)
            reading.cancel()
        return got

    assert asyncio.run(scenario()) == [b"%d" % n for n in range(40)]


def test_B17_jobs_of_a_killed_node_stay_the_consumers_at_another_node(flock: Flock) -> None:
    heron = flock[0]

    async def scenario() -> None:
        async with (
            connected(heron, "heron", "stork", client="joe") as joe,
            connected(heron, "heron", client="boss") as boss,
            connected(heron, "heron", client="ann") as ann,
        ):
            await boss.queue("jobs").declare()
            async with joe.queue("jobs").consume(prefetch=5) as jobs:
                for n in range(5):
                    await boss.queue("jobs").put(b"%d" % n)
                held = [await anext(jobs) for _ in range(2)]
                await asyncio.to_thread(heron.kill)
                acking = asyncio.gather(*(job.ack() for job in held))
                await eventually(lambda: joe._shell.core.line.home == "stork")
                assert not acking.done(), "the node with the jobs answers"
                await asyncio.to_thread(heron.start)
                async with ann.queue("jobs").consume() as others:
                    taken = asyncio.ensure_future(anext(others))
                    await acking
                    rest = [await anext(jobs) for _ in range(3)]
                    assert [int(job.content) for job in (*held, *rest)] == list(range(5))
                    assert not any(job.redelivered for job in rest)
                    await jobs.ack(rest)
                    await boss.queue("jobs").put(b"5")
                    assert (await taken).content == b"5", "nothing else was given to ann"
            info = await boss.queue("jobs").info()
            assert info.ready + info.out == 1

    asyncio.run(scenario())


def test_a_second_client_at_a_restarted_home_is_refused_and_the_first_goes_on(flock: Flock) -> None:
    heron = flock[0]

    async def scenario() -> None:
        async with (
            connected(heron, "heron", "stork", client="joe", session=7) as joe,
            connected(heron, "ibis", client="pub") as publisher,
            joe.subscribe("k", domain="NEWS") as sub,
        ):
            await asyncio.to_thread(heron.kill)
            await eventually(lambda: joe._shell.core.line.home == "stork")
            await asyncio.to_thread(heron.start)
            with pytest.raises(MeshError) as refused:
                async with connected(heron, "heron", client="joe", session=7):
                    pass
            assert refused.value.code == "SESSION_IN_USE"
            await publisher.publish("k", b"1", domain="NEWS")
            assert (await anext(sub)).content == b"1"

    asyncio.run(scenario())
