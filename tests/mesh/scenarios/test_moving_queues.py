"""Messages that move between nodes are neither lost nor doubled by kill -9 of either node."""

from __future__ import annotations

import asyncio

import pytest

import mesh
from mesh.client.client import Client
from mesh.errors import LocalError
from tests.mesh.meshes import eventually
from tests.mesh.running import LIMIT, RunningNode, running, until
from tests.postgres import PostgresServer

MANY = 3_000


async def declared(*clients: Client) -> None:
    for client in clients:
        await client.queue("jobs").declare(scope="node")


async def move(client: Client) -> None:
    """Move all jobs, until the other node is lost or none is ready."""
    try:
        await client.queue("jobs").move("b")
    except LocalError as error:
        assert error.code in ("NODE_AWAY", "NOTHING_READY"), error


async def waiting(client: Client) -> tuple[int, int]:
    """Return the numbers of jobs that are ready and in transit."""
    row = await client.queue("jobs").info()
    return row.ready, row.going


async def all_of(client: Client) -> list[tuple[int, int]]:
    """Return all jobs of the queue at this node, each with its attempt."""
    q, found = client.queue("jobs"), list[tuple[int, int]]()
    n = (await q.info()).ready
    async with q.consume(prefetch=1000) as jobs:
        while len(found) < n:
            batch = await anext(jobs.batches())
            found += [(int(job.content), job.attempt) for job in batch]
            await batch.ack()
    return found


@pytest.mark.parametrize("dies", [pytest.param("a", marks=pytest.mark.smoke), "b"])
def test_what_moves_survives_kill_9_of_either_node_once(dies: str) -> None:
    with running("a") as a, running("b", beside=a) as b:
        asyncio.run(moved_under_fire(a, b, dies))


def test_from_postgresql_to_a_file_that_survives_it_too(postgres: PostgresServer) -> None:
    with running("a", options=("--store", postgres.database())) as a, running("b", beside=a) as b:
        asyncio.run(moved_under_fire(a, b, "b"))


async def moved_under_fire(a: RunningNode, b: RunningNode, dies: str) -> None:
    met(a)
    dying = {"a": a, "b": b}[dies]
    async with mesh.connect("a", environ=a.environ) as ma, mesh.connect("b", environ=b.environ) as mb:
        await declared(ma, mb)
        q = ma.queue("jobs")
        await asyncio.gather(*(q.put_many([b"%d" % n for n in range(at, MANY, 30)]) for at in range(30)))
        assert await q.move("b", count=1) == 1
        for _ in range(3):
            moving = asyncio.create_task(move(ma))
            async with asyncio.timeout(LIMIT):
                before = await waiting(mb)
                while await waiting(mb) == before and not moving.done():
                    await asyncio.sleep(0)
            dying.kill()
            await asyncio.to_thread(dying.start)
            await asyncio.wait_for(moving, LIMIT)
        await asyncio.wait_for(move(ma), LIMIT)

        async def all_are_ready() -> bool:
            found = [*await waiting(ma), *await waiting(mb)]
            return sum(found) == MANY and not found[1]

        await eventually(all_are_ready)
        found_there, found_here = await all_of(mb), await all_of(ma)
        assert sorted(found_here + found_there) == [(n, 1) for n in range(MANY)]
        assert found_there


def met(a: RunningNode) -> None:
    """Wait until both nodes see each other."""
    until(lambda: "b" in a.mesh("ls", "--url", "a").stdout)


@pytest.mark.slow
def test_the_command_moves_and_ctrl_c_undoes_nothing() -> None:
    with running("a") as a, running("b", beside=a) as b:
        met(a)
        for node, name in ((a, "a"), (b, "b")):
            assert node.mesh("queue", "create", "jobs", "--scope", "node", "--url", name).returncode == 0
        lines = "".join(f"{n}\n" for n in range(100))
        a.mesh("queue", "put", "jobs", "--url", "a", content=lines)
        said = a.mesh("queue", "move", "jobs", "--to", "b", "--count", "40", "--url", "a")
        assert (said.returncode, said.stderr) == (0, "b accepted 40 messages of jobs\n")
        said = a.mesh("queue", "move", "jobs", "--to", "b", "--url", "a")
        assert (said.returncode, said.stderr) == (0, "b accepted 60 messages of jobs\n")
        taken = b.mesh("queue", "take", "jobs", "--count", "100", "--url", "b")
        assert taken.stdout == lines
        for to, code in (("b", "NOTHING_READY"), ("a", "BAD_ARGUMENT"), ("carl", "UNKNOWN_NODE")):
            said = a.mesh("queue", "move", "jobs", "--to", to, "--url", "a")
            assert said.returncode == 2 and f"[{code}]" in said.stderr, said.stderr
