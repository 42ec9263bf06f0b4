"""The speed of PostgreSQL with psycopg: rows are deleted from one table and inserted into another.

One connection for each transaction at a time. A row of another transaction is skipped.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import psycopg

from tools.benchmarks.operations.timing import Operation, Run, main


@asynccontextmanager
async def opening(address: str, run: Run) -> AsyncIterator[Operation]:
    load = run.load
    source, target = (f"{load.name}_{end}".replace("-", "_") for end in ("from", "to"))
    take = (
        f"DELETE FROM {source} WHERE id IN (SELECT id FROM {source} ORDER BY id LIMIT {load.jobs} "
        "FOR UPDATE SKIP LOCKED) RETURNING content"
    ).encode()
    put = f"INSERT INTO {target} (content) SELECT unnest(%s::bytea[])".encode()
    async with AsyncExitStack() as stack:
        opened = [psycopg.AsyncConnection.connect(address, autocommit=True) for _ in range(load.window)]
        connections = [await stack.enter_async_context(await each) for each in opened]
        first = connections[0]
        for table in (source, target):
            sql = f"CREATE TABLE {table} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, content bytea)"
            await first.execute(sql.encode())
        await first.execute(
            f"INSERT INTO {source} (content) SELECT unnest(%s::bytea[])".encode(), (load.contents(),)
        )
        await first.execute(f"ANALYZE {source}".encode())

        async def commit(worker: int, _number: int) -> None:
            connection = connections[worker]
            async with connection.transaction():
                rows = await (await connection.execute(take)).fetchall()
                assert len(rows) == load.jobs, "too few rows"
                await connection.execute(put, ([content for (content,) in rows],))

        yield commit
        run.check_queues(*[await _count(first, table) for table in (source, target)])


async def _count(connection: "psycopg.AsyncConnection[tuple[int]]", table: str) -> int:
    row = await (await connection.execute(f"SELECT count(*) FROM {table}".encode())).fetchone()
    assert row is not None
    return row[0]


if __name__ == "__main__":
    main(opening)
