"""A durable subscription at nodes that restart, with files and sockets."""

from __future__ import annotations

import asyncio
from pathlib import Path

import mesh
from mesh.client.client import Client
from tests.mesh.embedded.own import place
from tests.waiting import LIMIT, eventually


async def knows_both(m: Client) -> bool:
    return len(await m.nodes()) == 2


async def texts(jobs: mesh.Consumer[object], n: int) -> list[tuple[str, bool]]:
    """Return the texts of the next `n` messages, and whether each was redelivered, without an ack."""
    found: list[tuple[str, bool]] = []
    async with asyncio.timeout(LIMIT):
        while len(found) < n:
            job = await anext(jobs)
            found.append((job.text, job.redelivered))
    return found


def test_what_was_published_before_its_node_ended_is_there_when_it_is_back() -> None:
    async def scenario() -> None:
        with place() as here:
            data = Path(here.environ["MESH_STATE_DIR"]) / "kept"
            async with here.node("heron", data=data) as m:
                async with m.subscribe("k", durable="audit") as jobs:
                    await m.publish("k", "one", persistent=True)
                    await m.publish("k", "two")
                    assert await texts(jobs, 2) == [("one", False), ("two", False)]
                await m.publish("k", "three")
            async with here.node("heron", data=data) as m:
                await m.publish("k", "four")
                async with m.subscribe("k", durable="audit") as jobs:
                    found = await texts(jobs, 4)
                assert [text for text, _ in found] == ["one", "two", "three", "four"]
                assert [again for _, again in found][:2] == [True, True]
                await m.unsubscribe("audit")

    asyncio.run(scenario())


def test_two_nodes_know_it_and_keep_what_each_is_master_of() -> None:
    async def scenario() -> None:
        with place() as here:
            async with here.node("heron") as m, here.node("egret", m) as other:
                await eventually(lambda: knows_both(m))
                async with m.subscribe("k", durable="audit"):
                    await other.publish("k", "theirs")
                async with other.subscribe("k", durable="audit") as jobs:
                    assert await texts(jobs, 1) == [("theirs", False)]

    asyncio.run(scenario())
