"""Groups of subscribers: each message goes to one member."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mesh
import mesh.sync
import mesh.testing
from mesh.client.client import Client
from tests.mesh.meshes import LIMIT


def run(scenario: Any) -> None:
    asyncio.run(asyncio.wait_for(scenario, LIMIT))


async def worked(m: Client, found: list[bytes], ready: asyncio.Event, **options: Any) -> None:
    async with m.subscribe(pattern="jobs/#", group="workers", **options) as jobs:
        ready.set()
        async for job in jobs:
            found.append(job.content)


def test_a_group_shares_what_comes_between_its_members_at_all_nodes() -> None:
    async def scenario() -> None:
        async with mesh.testing.Mesh(nodes=2) as memory, memory.connect() as m, memory.connect("b") as n:
            found: list[list[bytes]] = [[], [], []]
            ready = [asyncio.Event() for _ in found]
            workers = [
                asyncio.ensure_future(worked(client, each, event))
                for client, each, event in zip((m, m, n), found, ready, strict=True)
            ]
            for event in ready:
                await event.wait()
            async with n.subscribe(pattern="jobs/#") as everything:
                for k in range(60):
                    await m.publish("jobs/1", b"%d" % k)
                seen = [(await anext(everything)).content for _ in range(60)]
            while sum(map(len, found)) < 60:
                await memory.pass_time(0.01)
            wanted = sorted(b"%d" % k for k in range(60))
            assert sorted(seen) == wanted == sorted(x for each in found for x in each)
            assert all(found)
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)

    run(scenario())


def test_who_leaves_leaves_the_rest_to_others_and_batches_and_several_topics_do_as_ever() -> None:
    async def scenario() -> None:
        async with mesh.testing.Mesh() as memory, memory.connect() as m:
            async with m.subscribe("a", "b", group="g", max_queue=2) as one:
                async with m.subscribe("a", "b", group="g") as other:
                    await m.publish("a", b"1")
                    await m.publish("a", b"2")
                    got = {(await anext(one)).content, (await anext(other)).content}
                    assert got == {b"1", b"2"}
                for k in range(10):
                    await m.publish("a", b"%d" % k)
                rest = []
                async for batch in one.batches():
                    rest += batch.contents()
                    if len(rest) == 10:
                        break
                assert rest == [b"%d" % k for k in range(10)]

    run(scenario())


def test_it_goes_on_after_its_node_was_away() -> None:
    async def scenario() -> None:
        async with mesh.testing.Mesh() as memory, memory.connect() as m:
            async with m.subscribe("k", group="g") as jobs:
                await m.publish("k", b"1")
                assert (await anext(jobs)).content == b"1"
                memory.kill("a")
                await memory.pass_time(5.0)
                memory.start("a")
                await memory.pass_time(20.0)
                await m.publish("k", b"2")
                assert (await anext(jobs)).content == b"2"

    run(scenario())


def test_values_and_handlers_have_groups_too() -> None:
    async def scenario() -> None:
        async with mesh.testing.Mesh() as memory, memory.connect() as m:
            found = []

            @m.on("jobs/#", group="g", type=dict[str, int])
            async def job(message: mesh.Message[dict[str, int]]) -> None:
                found.append(message.value["n"])

            async with m.running():
                for n in range(5):
                    await m.publish("jobs/1", {"n": n})
                while len(found) < 5:
                    await memory.pass_time(0.01)
            assert found == list(range(5))

    run(scenario())


@pytest.mark.parametrize("group", ["", "a b", "a\nb", "x" * 65, 5, b"g", "\ud800"])
def test_a_name_that_is_none_is_refused_at_the_call(group: Any) -> None:
    async def scenario() -> None:
        async with mesh.testing.Mesh() as memory, memory.connect() as m:
            with pytest.raises(mesh.BadName):
                m.subscribe("k", group=group)
            with pytest.raises(mesh.BadName):
                m.on("k", group=group)
            with pytest.raises(mesh.BadArgument):
                m.subscribe("k", group="g", max_queue=-1)
            with pytest.raises(mesh.MeshError):
                m.subscribe("k" * 500, group="g" * 64)
            for ask in (m.subscribe, m.on):
                with pytest.raises(mesh.BadArgument, match="group"):
                    ask("k", group="g", overflow="error")
                with pytest.raises(mesh.BadQuery):
                    ask("k", group="g", overflow="nothing")
                with pytest.raises(mesh.BadArgument):
                    ask("k", group="g", initial="no")  # type: ignore[call-overload, arg-type]

    run(scenario())
