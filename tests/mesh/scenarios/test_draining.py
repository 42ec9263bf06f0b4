"""A node is drained and stopped, and all messages of its queues are at another one."""

from __future__ import annotations

import asyncio

import pytest

import mesh
from tests.mesh.meshes import eventually
from tests.mesh.running import LIMIT, RunningNode, running
from tests.mesh.scenarios.test_moving_queues import all_of, met

MANY = 3_000


@pytest.mark.smoke
@pytest.mark.slow
def test_a_node_that_is_drained_goes_without_a_message_though_it_is_killed_in_the_middle() -> None:
    with running("a") as a, running("b", beside=a) as b:
        asyncio.run(drained(a, b))


async def drained(a: RunningNode, b: RunningNode) -> None:
    met(a)
    async with mesh.connect("a", environ=a.environ) as ma, mesh.connect("b", environ=b.environ) as mb:
        qa, qb = ma.queue("jobs"), mb.queue("jobs")
        await qa.declare()
        async with ma.subscribe(pattern="birds/#", durable="audit"):
            pass
        await asyncio.gather(*(qa.put_many([b"%d" % n for n in range(at, MANY, 30)]) for at in range(30)))
        await ma.publish("birds/heron", b"1")
        draining = asyncio.create_task(asyncio.to_thread(a.mesh, "drain", "--url", "a"))
        async with asyncio.timeout(LIMIT):
            while not (await here(mb, "jobs") or draining.done()):
                await asyncio.sleep(0)
        a.kill()
        await asyncio.to_thread(a.start)
        said = await draining
        assert said.returncode == 0 and "the queues of a are empty" in said.stderr, said.stderr
        assert await here(ma, "jobs") == await here(ma, "sub/audit") == 0
        assert await here(mb, "sub/audit") == 1
        await qa.put(b"%d" % MANY)

        async def has_all() -> bool:
            return await here(mb, "jobs") == MANY + 1

        await eventually(has_all)
        await asyncio.to_thread(a.mesh, "down", "--url", "a")
        await asyncio.to_thread(a.wait)
        assert sorted(n for n, _ in await all_of(mb)) == list(range(MANY + 1))
        assert (await qb.info()).ready == 0


async def here(m: mesh.Client, name: str) -> int:
    row = await m.call("queue_info", name=name, here=True)
    return int(sum(row[what] for what in ("ready", "out", "delayed", "going")))
