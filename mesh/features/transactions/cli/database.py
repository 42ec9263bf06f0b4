"""The commands of `mesh tx` for a database: its tables, a sender, and its rows."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import click

import mesh
from mesh.cli import options
from mesh.cli.options import print_data, print_message, tell_json
from mesh.cli.table import tell_table
from mesh.errors import MeshError
from mesh.features.transactions.database.adapter import Row, drive
from mesh.features.transactions.database.dialect import POSTGRESQL, SQLITE
from mesh.features.transactions.database.opening import OpenDatabase, check_url, failed, open_database
from mesh.features.transactions.database.schema import VERSION, check_version, migrate, statements
from mesh.printable import count, harmless

database = click.argument("database", metavar="DATABASE")


@contextmanager
def _opened(url: str, is_checked: bool = True) -> Iterator[OpenDatabase]:
    """Open a database. Raises: LocalError DB_FAILED, DB_NO_TABLES or DB_VERSION, and BadArgument."""
    check_url(url)
    try:
        found = open_database(url)
        try:
            if is_checked:
                drive(check_version(found.adapter))
            yield found
        finally:
            with suppress(found.errors):
                found.close()
    except (MeshError, click.ClickException):
        raise
    except Exception as error:  # the driver's
        raise failed(url, error) from error


@click.command("init-db")
@database
@click.option("--print", "is_printed", is_flag=True, help="Print the SQL, and change nothing.")
def init_db(database: str, is_printed: bool) -> None:
    """Create or migrate the tables of outbox and inbox in DATABASE.

    DATABASE is sqlite:///FILE or postgresql://USER@HOST/NAME.
    """
    if is_printed:
        is_sqlite, _ = check_url(database)
        print_data(f"{each};" for each in statements(SQLITE if is_sqlite else POSTGRESQL))
        return
    with _opened(database, is_checked=False) as found:
        before = drive(migrate(found.adapter))
    if before == VERSION:
        print_message(f"the tables have version {VERSION} already")
    else:
        print_message(f"{'migrated' if before else 'created'} the tables, version {VERSION}")


@click.command("send")
@database
@click.option("--once", is_flag=True, help="End when no row is left to be sent.")
@options.client
@options.url
def send(database: str, once: bool, client: str | None, url: str | None) -> None:
    """Send the messages in the outbox of DATABASE until Ctrl-C.

    Several senders may run; one takes over from another within 10 s.
    """
    given: dict[str, Any] = {} if client is None else {"client": client}
    asyncio.run(_send(mesh.outbox(database, url, **given), once))


async def _send(sender: mesh.OutboxSender, once: bool) -> None:
    ending = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, ending.set)
    async with sender as outbox:
        print_message("sending")
        end = asyncio.ensure_future(outbox.drained() if once else outbox.forever())
        signaled = asyncio.ensure_future(ending.wait())
        await asyncio.wait((end, signaled), return_when=asyncio.FIRST_COMPLETED)
        signaled.cancel()
        if not end.done():
            end.cancel()
        else:
            end.result()


@click.command("ls-db")
@database
@options.as_json
def ls_db(database: str, as_json: bool) -> int:
    """List the rows of the outbox of DATABASE that were refused. Exit code 1: there are none."""
    with _opened(database) as found:
        waiting = _rows(found, "SELECT count(*) FROM heronry_outbox WHERE error IS NULL")[0][0]
        rows = _rows(
            found, "SELECT id, target, created, error FROM heronry_outbox WHERE error IS NOT NULL ORDER BY id"
        )
    if as_json:
        names = ("id", "target", "created", "error")
        tell_json({"waiting": waiting, "dead": [dict(zip(names, row, strict=True)) for row in rows]})
    else:
        print_message(f"{count(waiting, 'row')} to be sent")
        lines = [(str(row[0]), harmless(row[1]), harmless(row[3])) for row in rows]
        if lines:
            tell_table(("ROW", "TARGET", "ERROR"), lines, folded="ERROR")
    return 0 if rows else 1


@click.command("retry")
@database
@click.argument("rows", nargs=-1, type=int, metavar="[ROW…]")
def retry(database: str, rows: Sequence[int]) -> None:
    """Send refused rows of the outbox of DATABASE again: all, or those named."""
    where = f" AND id IN ({', '.join(['?'] * len(rows))})" if rows else ""
    sql = f"UPDATE heronry_outbox SET error = NULL WHERE error IS NOT NULL{where} RETURNING id"
    with _opened(database) as found:
        done = _rows(found, sql, *rows)
        drive(found.adapter.commit())
    print_message(f"{count(len(done), 'row')} will be sent again")


def _rows(found: OpenDatabase, sql: str, *values: Any) -> list[Row]:
    return drive(found.adapter.execute(sql, values))
