"""Senders of an outbox: order, repeats, refusals, restores, and several senders."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Coroutine, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mesh
from mesh.features.transactions.database.opening import open_database
from mesh.features.transactions.database.outbox_table import OutboxTable
from tests.mesh.embedded.own import Place, place
from tests.mesh.features.transactions.database.drivers import prepared, rows_of, sqlite_url
from tests.mesh.meshes import LIMIT

LEFT = "SELECT target, error FROM heronry_outbox ORDER BY id"


async def put(file: Path, contents: Iterable[str], queue: str = "mail", order_by: str = "") -> None:
    with closing(sqlite3.connect(file)) as db:
        async with mesh.transaction(db=db, order_by=order_by) as tx:
            for content in contents:
                tx.put(queue, content)


def copy(source: Path, target: Path) -> None:
    """Copy a database into another, as a dump that is restored."""
    with closing(sqlite3.connect(source)) as a, closing(sqlite3.connect(target)) as b:
        a.backup(b)


def number_rows(url: str) -> None:
    """Number the rows as a sender that dies before it sends them."""
    database = open_database(url)
    table = OutboxTable(database, "dead sender")
    assert table.take(0) is not None
    assert table.next_batch(0, (), 0, 0, 10, lambda: False) is not None
    table.release([0])
    database.close()


async def texts(m: mesh.Client, queue: str = "mail") -> list[str]:
    return [each.text for each in await m.queue(queue).peek(100)]


def sender(here: Place, m: Any, url: str, client: str = "outbox") -> mesh.OutboxSender:
    return mesh.outbox(url, m._core.line.home, environ=here.environ, client=client)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, LIMIT))


def test_rows_arrive_in_order_and_refused_ones_stay(tmp_path: Path) -> None:
    url, file = prepared(sqlite_url(tmp_path)), tmp_path / "shop.db"

    async def scenario() -> None:
        with place() as here:
            async with here.node("a") as m:
                await m.queue("mail").declare()
                await put(file, "12")
                await put(file, ["lost"], queue="nowhere")
                async with sender(here, m, url) as outbox:
                    await outbox.drained()
                    await put(file, "345")
                    await outbox.drained()
                assert await texts(m) == list("12345")

    run(scenario())
    ((target, error),) = rows_of(url, LEFT)
    assert target == "nowhere" and "[NO_QUEUE]" in error
    assert rows_of(url, "SELECT owner FROM heronry_stream WHERE attach > 0") == [(None,)]


def test_publishes_and_sends_arrive_as_they_were_written(tmp_path: Path) -> None:
    url, file = prepared(sqlite_url(tmp_path)), tmp_path / "shop.db"

    async def scenario() -> None:
        with place() as here:
            async with here.node("a", client="joe") as m:
                async with m.subscribe("orders/1", domain="shop") as sub, m.inbox() as inbox:
                    with closing(sqlite3.connect(file)) as db:
                        async with m.transaction(db=db) as tx:
                            tx.publish("orders/1", {"paid": True}, domain="shop", headers={"lang": "en"})
                            tx.send("client/joe", "done")
                    async with sender(here, m, url) as outbox:
                        await outbox.drained()
                        message, letter = await anext(sub), await anext(inbox)
                assert (message.value, message.headers["lang"]) == ({"paid": True}, "en")
                assert letter.text == "done"

    run(scenario())


def test_a_later_sender_resumes_the_session(tmp_path: Path) -> None:
    url, file = prepared(sqlite_url(tmp_path)), tmp_path / "shop.db"

    async def scenario() -> None:
        with place() as here:
            async with here.node("a") as m:
                await m.queue("mail").declare()
                for content in "12":
                    await put(file, content)
                    async with sender(here, m, url) as outbox:
                        await outbox.drained()
                found = await m.queue("mail").peek(10)
                assert [each.text for each in found] == ["1", "2"]
                assert found[0].sender == found[1].sender

    run(scenario())


def test_two_senders_deliver_each_row_once(tmp_path: Path) -> None:
    url, file = prepared(sqlite_url(tmp_path)), tmp_path / "shop.db"

    async def scenario() -> None:
        with place() as here:
            async with here.node("a") as m:
                await m.queue("mail").declare()
                async with sender(here, m, url) as one, sender(here, m, url) as two:
                    for n in range(20):
                        await put(file, [str(n)], order_by=str(n % 3))
                    await one.drained()
                    await two.drained()
                assert sorted(await texts(m), key=int) == [str(n) for n in range(20)]

    run(scenario())


def test_a_sender_whose_stream_another_one_takes_gives_it_up(tmp_path: Path) -> None:
    url, file = prepared(sqlite_url(tmp_path)), tmp_path / "shop.db"

    def owner() -> str:
        return str(rows_of(url, "SELECT owner FROM heronry_stream WHERE stream = 0")[0][0])

    async def scenario() -> None:
        with place() as here:
            async with here.node("a") as m:
                await m.queue("mail").declare()
                async with sender(here, m, url) as one:
                    await put(file, "1")
                    await one.drained()
                    async with sender(here, m, url) as two:
                        for number in range(2, 6):
                            with closing(sqlite3.connect(file)) as db:  # as at the end of a lease
                                db.execute("UPDATE heronry_stream SET until = 1")
                                db.commit()
                            await put(file, [str(number)])
                            await two.drained()
                        assert owner() in (one._name, two._name)
                    await put(file, "6")
                    await one.drained()
                assert await texts(m) == list("123456")

    run(scenario())


def test_a_row_that_found_no_room_is_sent_again(tmp_path: Path) -> None:
    url, file = prepared(sqlite_url(tmp_path)), tmp_path / "shop.db"

    async def scenario() -> None:
        with place() as here:
            async with here.node("a") as m:
                q = m.queue("mail")
                await q.declare(max_count=1, when_full="reject")
                await put(file, "12")
                async with sender(here, m, url) as outbox:
                    for expected in ("1", "2"):
                        job = await q.get(timeout=LIMIT)
                        assert job is not None and job.text == expected
                        await job.ack()
                    await outbox.drained()

    run(scenario())
    assert rows_of(url, LEFT) == []


def test_a_restored_table_repeats_rows_and_uses_no_number_twice(tmp_path: Path) -> None:
    """Law 1 of the rules of an outbox."""
    url, file, dump = prepared(sqlite_url(tmp_path)), tmp_path / "shop.db", tmp_path / "dump.db"

    async def scenario() -> None:
        with place() as here:
            async with here.node("a") as m:
                await m.queue("mail").declare()
                async with sender(here, m, url) as outbox:
                    await put(file, "1")
                    await outbox.drained()
                    copy(file, dump)
                    await put(file, "23")
                    await outbox.drained()
                    copy(dump, file)  # the sender runs on
                    await put(file, "45")
                    await outbox.drained()
                copy(dump, file)
                with closing(sqlite3.connect(file)) as db:  # instead of the end of its lease
                    db.execute("UPDATE heronry_stream SET owner = NULL")
                    db.commit()
                await put(file, "6")
                async with sender(here, m, url) as outbox:
                    await outbox.drained()
                assert await texts(m) == list("123456")
                numbers = [each.id.rpartition(":")[2] for each in await m.queue("mail").peek(10)]
                assert len({*numbers}) == 6 and numbers == sorted(numbers)

    run(scenario())


def test_rows_of_a_restore_that_were_sent_before_are_not_delivered_again(tmp_path: Path) -> None:
    url, file, dump = prepared(sqlite_url(tmp_path)), tmp_path / "shop.db", tmp_path / "dump.db"

    async def scenario() -> None:
        with place() as here:
            async with here.node("a") as m:
                await m.queue("mail").declare()
                await put(file, "12")
                number_rows(url)
                copy(file, dump)
                async with sender(here, m, url) as outbox:
                    await outbox.drained()
                    copy(dump, file)
                    await outbox.drained()
                assert await texts(m) == ["1", "2"]

    run(scenario())


def test_a_url_that_is_none_and_a_database_without_tables(tmp_path: Path) -> None:
    for url in ("shop.db", "mysql://x/y", "sqlite://", "sqlite:///:memory:"):
        with pytest.raises(mesh.BadArgument):
            mesh.outbox(url)

    async def scenario(url: str) -> None:
        async with mesh.outbox(url):
            pass

    with pytest.raises(mesh.LocalError) as raised:
        run(scenario(f"sqlite:///{tmp_path}/empty.db"))
    assert raised.value.code == "DB_NO_TABLES"
    with pytest.raises(mesh.LocalError) as raised:
        run(scenario(f"sqlite:///{tmp_path}/none/shop.db"))
    assert raised.value.code == "DB_FAILED"


def test_programs_without_a_loop_write_and_send(tmp_path: Path) -> None:
    url = prepared(sqlite_url(tmp_path))
    with place() as here, here.sync_node("a") as m:
        m.queue("mail").declare()
        with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
            with mesh.sync.transaction(db=db) as tx:
                db.execute("INSERT INTO orders VALUES ('1')")
                tx.put("mail", "letter")
                with pytest.raises(mesh.BadArgument, match="cannot be prepared"):
                    tx.prepare()
            with pytest.raises(KeyError), mesh.sync.transaction(db=db) as tx:
                tx.put("mail", "never")
                raise KeyError
        with mesh.sync.outbox(url, "a", environ=here.environ) as outbox:
            outbox.drained()
        assert [each.text for each in m.queue("mail").peek()] == ["letter"]
    assert rows_of(url, "SELECT name FROM orders") == [("1",)]


def test_a_sender_that_fails_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = prepared(sqlite_url(tmp_path))
    monkeypatch.setattr(OutboxTable, "due", lambda _: 1 // 0)

    async def scenario() -> None:
        with pytest.raises(ZeroDivisionError):
            async with mesh.outbox(url) as outbox:
                with pytest.raises(ZeroDivisionError):
                    await outbox.drained()
                with pytest.raises(ZeroDivisionError):
                    await outbox.forever()

    run(scenario())
