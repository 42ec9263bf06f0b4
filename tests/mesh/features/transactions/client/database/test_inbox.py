"""The inbox of a consumer: each job has its effects once."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

import mesh
from mesh.client.job_database import JobStart
from mesh.features.transactions.client.database import inbox
from tests.mesh.embedded.own import place
from tests.mesh.features.transactions.database.drivers import insert_order, prepared, rows_of, sqlite_url
from tests.mesh.meshes import LIMIT
from tests.postgres import PostgresServer

ORDERS, KEYS = "SELECT name FROM orders ORDER BY name", "SELECT queue, message FROM heronry_inbox"
Source = Callable[[str], Any]


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, LIMIT))


def sqlite_opener(url: str) -> Any:
    return partial(sqlite3.connect, url.removeprefix("sqlite:///"))


async def commit_without_ack(job: Any) -> None:
    """Run a job whose ack is lost."""
    await job.__aenter__()
    assert not job.done_before
    await insert_order(job.db, job.text)
    await job._at.database.end(job._job, is_failed=False)
    await job.nack()


async def _done_once(url: str, source: Any) -> None:
    with place() as here:
        async with here.node("a") as m:
            q = m.queue("jobs")
            await q.declare()
            await q.put("1")
            async with q.consume(inbox=source) as jobs:
                await commit_without_ack(await anext(jobs))
                job = await anext(jobs)
                async with job:
                    assert job.done_before and job.redelivered
                await q.put("2")
                with pytest.raises(KeyError):
                    async with await anext(jobs) as job:
                        await insert_order(job.db, "never")
                        async with m.transaction(db=job.db) as tx:
                            tx.put("next", "never")
                        raise KeyError
                async with await anext(jobs) as job:
                    assert not job.done_before
                    await insert_order(job.db, job.text)
                    async with m.transaction(db=job.db) as tx:
                        tx.put("next", job.text)
            assert (await q.info()).bytes == 0
    assert rows_of(url, ORDERS) == [("1",), ("2",)]
    assert [queue for queue, _ in rows_of(url, KEYS)] == ["jobs", "jobs"]
    assert [bytes(each) for (each,) in rows_of(url, "SELECT content FROM heronry_outbox")] == [b"2"]


def test_a_job_that_comes_again_has_no_second_effect(tmp_path: Path) -> None:
    url = prepared(sqlite_url(tmp_path))
    run(_done_once(url, sqlite_opener(url)))


def test_one_connection_serves_all_jobs(tmp_path: Path) -> None:
    url = prepared(sqlite_url(tmp_path))
    with closing(sqlite_opener(url)()) as db:
        run(_done_once(url, db))


def test_jobs_open_connections_of_postgresql(postgres: PostgresServer) -> None:
    url = prepared(postgres.database())
    run(_done_once(url, partial(psycopg.AsyncConnection.connect, url)))


def test_a_second_consumer_waits_for_the_first(postgres: PostgresServer) -> None:
    """Law 1: looking the row up would not be enough."""
    url = prepared(postgres.database())

    async def scenario() -> None:
        with place() as here:
            async with here.node("a") as m:
                q = m.queue("jobs")
                await q.declare()
                await q.put("1")
                async with q.consume(inbox=partial(psycopg.AsyncConnection.connect, url)) as jobs:
                    job = await anext(jobs)
                    other = job._at.database
                    assert other is not None
                    first = inbox.QueueInbox("jobs", partial(psycopg.AsyncConnection.connect, url), lambda: 0)
                    await first.begin(job, job._job, 0)
                    second = asyncio.create_task(other.begin(job, job._job, 0))
                    while not rows_of(url, "SELECT 1 FROM pg_locks WHERE NOT granted"):
                        await asyncio.sleep(0.02)
                    assert not second.done()
                    await first.end(job._job, is_failed=False)
                    assert await second is JobStart.DONE_BEFORE
                    await job.__aexit__(None, None, None)

    run(scenario())


def test_a_job_older_than_all_rows_is_rejected_or_run(tmp_path: Path) -> None:
    url = prepared(sqlite_url(tmp_path))

    async def scenario() -> None:
        with place() as here:
            async with here.node("a") as m:
                q = m.queue("jobs")
                await q.declare(dead_letter="queue/dead")
                await m.queue("dead").declare()
                for number, choice in enumerate(("reject", "run")):
                    await q.put(str(number))
                    source = mesh.DatabaseInbox(sqlite_opener(url), on_unknown=choice)  # type: ignore[arg-type]
                    async with q.consume(inbox=source) as jobs:
                        await (await anext(jobs)).nack()
                        with closing(sqlite_opener(url)()) as db:
                            sql = "INSERT OR REPLACE INTO heronry_meta VALUES ('kept_from/jobs', ?)"
                            db.execute(sql, ("9" * 18,))
                            db.commit()
                        async with await anext(jobs) as job:
                            assert job.done_before is (choice == "reject")
                            if not job.done_before:
                                await insert_order(job.db, job.text)
                assert (await q.info()).bytes == 0
                (dead,) = await m.queue("dead").peek()
                assert (dead.text, dead.headers["dead-reason"]) == ("0", "dead-inbox")

    run(scenario())
    assert rows_of(url, ORDERS) == [("1",)]


def test_a_delivery_held_for_too_long_is_given_back(tmp_path: Path) -> None:
    url = prepared(sqlite_url(tmp_path))

    async def scenario() -> None:
        with place() as here:
            async with here.node("a") as m:
                q = m.queue("jobs")
                await q.declare()
                await q.put("1")
                async with q.consume(inbox=mesh.DatabaseInbox(sqlite_opener(url), keep=1e-9)) as jobs:
                    await m.nodes()  # time passes
                    async with await anext(jobs) as job:
                        assert job.done_before
                    assert (await anext(jobs)).redelivered

    run(scenario())
    assert rows_of(url, KEYS) == []


def test_old_rows_are_deleted_with_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = prepared(sqlite_url(tmp_path))
    monkeypatch.setattr(inbox, "is_deletion_due", lambda jobs: jobs == 2)

    async def scenario() -> None:
        with place() as here:
            async with here.node("a") as m:
                q = m.queue("jobs")
                await q.declare()
                async with q.consume(inbox=sqlite_opener(url)) as jobs:
                    for n in range(2):
                        await q.put(str(n))
                        with closing(sqlite_opener(url)()) as db:
                            db.execute("UPDATE heronry_inbox SET done = 1")
                            db.commit()
                        async with await anext(jobs):
                            pass

    run(scenario())
    assert len(rows_of(url, KEYS)) == 1
    assert rows_of(url, "SELECT 1 FROM heronry_meta WHERE name = 'kept_from/jobs'") == [(1,)]


def test_a_blocking_client_uses_the_connection_in_its_own_thread(tmp_path: Path) -> None:
    url = prepared(sqlite_url(tmp_path))
    with place() as here, here.sync_node("a") as m, closing(sqlite_opener(url)()) as db:
        q = m.queue("jobs")
        q.declare()
        q.put("1")
        with q.consume(inbox=db) as jobs:
            with next(jobs) as job:
                job.db.execute("INSERT INTO orders VALUES (?)", (job.text,))
                with m.transaction(db=job.db) as tx:
                    tx.put("next", job.text)
            q.put("2")
            with pytest.raises(KeyError), next(jobs) as job:
                job.db.execute("INSERT INTO orders VALUES (?)", (job.text,))
                raise KeyError
            with next(jobs) as job:
                assert not job.done_before
        assert q.info().bytes == 0
    assert rows_of(url, ORDERS) == [("1",)]
    assert len(rows_of(url, KEYS)) == 2


def test_a_source_that_is_no_database() -> None:
    with pytest.raises(mesh.BadArgument):
        mesh.DatabaseInbox(object())
    with pytest.raises(mesh.BadArgument):
        mesh.DatabaseInbox(sqlite3.connect, on_unknown="guess")  # type: ignore[arg-type]
    with pytest.raises(mesh.BadArgument):
        mesh.DatabaseInbox(sqlite3.connect, keep=0)


def test_a_batch_has_no_transaction(tmp_path: Path) -> None:
    url = prepared(sqlite_url(tmp_path))

    async def scenario() -> None:
        with place() as here:
            async with here.node("a") as m:
                q = m.queue("jobs")
                await q.declare()
                await q.put("1")
                async with q.consume(inbox=sqlite_opener(url)) as jobs:
                    batch = await anext(aiter(jobs.batches()))
                    with pytest.raises(mesh.BadArgument):
                        async with batch:
                            pass
                    with pytest.raises(mesh.Closed):
                        assert batch[0].db
                async with q.consume() as jobs, await anext(jobs) as job:
                    assert not job.done_before

    run(scenario())
