"""Transactions over several stores on real nodes, which are killed at each step."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

import mesh
from tests.mesh.meshes import eventually
from tests.mesh.running import RunningNode, running
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.postgres import PostgresServer

STEPS = 6  # hidden rows in two stores, the decision, two stores complete, the decision goes


def options(place: Path, *more: str) -> Sequence[str]:
    """Return the options of a node with the queues `jobs` and `next`, each in a file of its own."""
    config = place / "mesh.toml"
    rows = [
        f'[[queues]]\nname = "{name}"\nstore = "sqlite://{place / name}.db"\n' for name in ("jobs", "next")
    ]
    config.write_text("".join(rows))
    return ("--config", str(config), *more)


async def commit(m: mesh.Client, job: mesh.Job, number: int) -> None:
    async with m.transaction(timeout=90) as tx:
        tx.ack(job)
        tx.put("next", str(number))
        tx.publish("orders/42", str(number))
    assert [each.state for each in tx.results] == ["OK", "OK"]


async def B21(a: RunningNode, b: RunningNode, points: Sequence[str]) -> None:
    """Roll a transaction back, then commit one for each crash point of node `a`."""
    async with mesh.connect("b", environ=b.environ) as reader, hearing(reader, "orders/42") as ear:
        async with mesh.connect("a", environ=a.environ) as m:
            jobs, after = m.queue("jobs"), m.queue("next")
            await jobs.declare()
            await after.declare()
            await jobs.put("0")
            async with jobs.consume(prefetch=1) as consumer:
                job = await anext(consumer)
                with pytest.raises(ZeroDivisionError):
                    async with m.transaction() as tx:
                        tx.ack(job)
                        tx.put("next", "0")
                        tx.publish("orders/42", "0")
                        raise ZeroDivisionError
                assert ((await jobs.info()).out, (await after.info()).ready) == (1, 0)
                await m.publish("orders/42", "begin")
                await ear.heard(1)
                for number, point in enumerate(points, 1):
                    a.kill()
                    a.start(point)
                    task = asyncio.create_task(commit(m, job, number))
                    assert await asyncio.to_thread(a.wait) == 137
                    a.start()
                    await task
                    assert (await jobs.info()).out == 0
                    await jobs.put(str(number))
                    job = await anext(consumer)
                assert job.text == str(len(points))
                numbers = [str(n) for n in range(1, len(points) + 1)]
                assert [each.text for each in await after.peek(100)] == numbers
                await eventually(lambda: len(ear.contents) > len(points))
                await nothing_more(m, ear)
                assert list(dict.fromkeys(c.decode() for c in ear.contents)) == ["begin", *numbers]


@pytest.mark.slow
def test_B21_a_node_killed_at_any_step_of_a_commit_shows_all_or_nothing(tmp_path: Path) -> None:
    points = ["branch.before:1", *(f"branch.after:{step}" for step in range(1, STEPS + 1))]
    with running("a", options=options(tmp_path)) as a, running("b", beside=a) as b:
        asyncio.run(asyncio.wait_for(B21(a, b, points), 240))


@pytest.mark.slow
def test_B21_with_the_decision_in_postgresql(postgres: PostgresServer, tmp_path: Path) -> None:
    points = ["branch.after:2", "branch.after:3", "branch.after:5"]
    more = ("--store", postgres.database())
    with running("a", options=options(tmp_path, *more)) as a, running("b", beside=a) as b:
        asyncio.run(asyncio.wait_for(B21(a, b, points), 240))
