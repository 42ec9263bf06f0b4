"""The statements of a sender, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import mesh
from mesh.features.transactions.database.adapter import drive
from mesh.features.transactions.database.opening import OpenDatabase, open_database
from mesh.features.transactions.database.outbox_table import Batch, OutboxTable
from tests.mesh.features.transactions.database.drivers import prepared, sqlite_url
from tests.postgres import PostgresServer

Tables = tuple[OutboxTable, OutboxTable, OpenDatabase]


@pytest.fixture(params=["sqlite", "postgresql"])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tables]:
    """Yield the tables of two senders, and the database."""
    if request.param == "sqlite":
        url = sqlite_url(tmp_path)
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        url = server.database()
    prepared(url)
    one, two = open_database(url), open_database(url)
    yield OutboxTable(one, "one"), OutboxTable(two, "two"), one
    one.close()
    two.close()


def write(database: OpenDatabase, *queues: str) -> None:
    async def scenario() -> None:
        async with mesh.transaction(db=database.adapter.connection) as tx:
            for queue in queues:
                tx.put(queue, queue)

    asyncio.run(scenario())


def sql(database: OpenDatabase, statement: str) -> None:
    drive(database.adapter.execute(statement))
    drive(database.adapter.commit())


def is_over() -> bool:
    return True


def runs() -> bool:
    return False


def test_one_sender_has_a_stream_until_its_lease_is_over(tables: Tables) -> None:
    one, two, database = tables
    first = one.take(0)
    assert first is not None and two.take(0) is None
    assert one.renew(0) and not two.renew(0)
    sql(database, "UPDATE heronry_stream SET until = 1")
    second = two.take(0)
    assert second is not None and second.attach > first.attach and second.seed == first.seed
    assert not one.renew(0) and one.take(0) is None
    two.release([0])
    assert one.take(0) is not None


def batch(table: OutboxTable, left_at: int = 0, above: int = 0, *settled: tuple[int, int]) -> Batch:
    """Return a batch of at most ten rows for the owner of the stream."""
    found = table.next_batch(0, settled, left_at, above, 10, runs)
    assert found is not None
    return found


def test_rows_are_numbered_by_domain_and_only_by_the_owner(tables: Tables) -> None:
    """Law 2 and law 3 of the rules of an outbox."""
    one, two, database = tables
    write(database, "a", "b", "a")
    assert one.due() == [0]
    assert one.take(0) is not None
    assert two.next_batch(0, (), 0, 0, 10, runs) is None
    assert one.next_batch(0, (), 0, 0, 10, is_over) is None
    found = batch(one)
    assert (found.numbered, found.is_restored) == (3, False)
    assert [row.target for row in found.rows] == ["a", "a", "b"]
    numbers = [row.number for row in found.rows]
    assert [number - numbers[0] for number in numbers] == [0, 1, 2]
    assert (one.lowest(0), one.highest(0)) == (numbers[0], numbers[2])
    assert found.left_at == numbers[2] + 1
    again = batch(one, found.left_at, numbers[0])
    assert (again.numbered, [row.number for row in again.rows]) == (0, numbers[1:])


def test_a_row_of_the_stream_that_is_behind_was_restored(tables: Tables) -> None:
    one, _, database = tables
    assert one.take(0) is not None
    write(database, "a")
    found = batch(one)
    sql(database, "UPDATE heronry_stream SET next = 5")
    write(database, "b")
    again = batch(one, found.left_at)
    assert again.is_restored and again.left_at > found.left_at


def test_answers_delete_rows_or_take_their_numbers(tables: Tables) -> None:
    one, _, database = tables
    write(database, "a", "b", "c", "d", "e")
    assert one.take(0) is not None
    numbers = [row.number for row in batch(one).rows]
    one.delete(0, [(numbers[0], numbers[0])])
    one.refuse(0, numbers[2], "no queue")
    one.refuse(0, numbers[3], None)
    found = batch(one, numbers[4] + 1, 0, (numbers[1], numbers[1]), (numbers[4], numbers[4]))
    assert ([row.target for row in found.rows], found.numbered) == (["d"], 1)
    assert found.rows[0].number > numbers[4]
    one.delete(0, [(0, 2**62)])
    assert one.due() == []  # the dead row is not due


def test_a_sender_that_lost_the_stream_still_deletes_what_it_settled(tables: Tables) -> None:
    one, two, database = tables
    write(database, "a", "b")
    assert one.take(0) is not None
    first, second = (row.number for row in batch(one).rows)
    one.release([0])
    assert two.take(0) is not None
    assert one.next_batch(0, [(first, first)], second + 1, second, 10, runs) is None
    assert [row.number for row in batch(two).rows] == [second]


def test_a_turn_reads_only_its_rows_however_many_wait(postgres: PostgresServer) -> None:
    """The number of rows that PostgreSQL reads, in tables whose sizes it does not know."""
    url = postgres.database()
    prepared(url)
    with closing(open_database(url)) as database:
        one = OutboxTable(database, "one")
        for _ in range(5):
            write(database, *["a"] * 1000)
        assert one.take(0) is not None
        before = _rows_read(postgres, url)
        for _ in range(10):
            assert one.due() == [0]
            assert len(batch(one, above=one.highest(0)).rows) == 10
        sql(database, "SELECT pg_stat_force_next_flush()")
    assert 100 <= _rows_read(postgres, url) - before < 1000


def _rows_read(server: PostgresServer, url: str) -> int:
    table = "FROM pg_stat_user_tables WHERE relname = 'heronry_outbox'"
    by_index = "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'heronry_outbox'"
    ((count,),) = server.sql(f"SELECT seq_tup_read + ({by_index}) {table}", url)
    return int(count)


def test_the_session_is_kept_for_the_next_sender(tables: Tables) -> None:
    one, two, _ = tables
    assert one.take(3) is not None
    one.set_token(3, b"token")
    two.set_token(3, b"other")
    one.release([3])
    found = two.take(3)
    assert found is not None and found.token == b"token"
