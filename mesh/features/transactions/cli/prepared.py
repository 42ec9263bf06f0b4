"""Commands that list prepared transactions and decide them."""

import time

import click
from msgspec import to_builtins

from mesh import sync
from mesh.cli import options
from mesh.cli.options import print_data, print_message, tell_json
from mesh.cli.table import tell_table
from mesh.errors import LocalError
from mesh.printable import count, harmless
from mesh.wire.replies import Decided, TransactionRow, TransactionRows, read_result

name = click.argument("name", metavar="NAME")


@click.command("ls")
@click.option("--all", "all_users", is_flag=True, help="Show those of all users. Requires a node's keys.")
@options.as_json
@options.url
def ls(all_users: bool, as_json: bool, url: str | None) -> int:
    """List the prepared transactions of all nodes.

    Exit code 1: there are none.
    """
    with sync.connect(url) as m:
        found = _found(m, all_users)
    if as_json:
        tell_json(to_builtins(found))
    else:
        rows = [(_name(row), row.state, _age(row), f"{row.operations:,}") for row in found.transactions]
        tell_table(("TRANSACTION", "STATE", "AGE", "OPERATIONS"), rows)
        if found.missing:
            print_message(f"incomplete, without {harmless(', '.join(found.missing))}, which did not answer")
    return 0 if found.transactions else 1


@click.command("show")
@name
@options.as_json
@options.url
def show(name: str, as_json: bool, url: str | None) -> None:
    """Show the prepared transaction NAME, such as heron/xid-17."""
    with sync.connect(url) as m:
        row = _one(m, name)
    if as_json:
        tell_json(to_builtins(row))
        return
    lines = {
        "state": row.state,
        "age": _age(row),
        "operations": f"{row.operations:,}, {count(row.bytes, 'byte')} of messages",
        "queues": ", ".join(row.queues),
        "user": row.user or "without keys",
    }
    print_data([f"{key}: {harmless(value)}" for key, value in lines.items() if value])


@click.command("commit")
@name
@options.url
def commit(name: str, url: str | None) -> int:
    """Commit the prepared transaction NAME.

    Exit code 1: it was rolled back before.
    """
    return _decide(name, "commit", "committed", url)


@click.command("rollback")
@name
@options.url
def rollback(name: str, url: str | None) -> int:
    """Roll the prepared transaction NAME back: its deliveries come again.

    Exit code 1: it was committed before.
    """
    return _decide(name, "rollback", "refused", url)


def _decide(name: str, do: str, wanted: str, url: str | None) -> int:
    with sync.connect(url) as m:
        outcome = read_result(Decided, m.call("tx_decide", name=name, do=do)).outcome
    print_data([{"committed": "committed", "refused": "rolled back"}.get(outcome, outcome)])
    return 0 if outcome == wanted else 1


def _found(m: sync.Client, all_users: bool) -> TransactionRows:
    return read_result(TransactionRows, m.call("tx_ls", all=all_users))


def _one(m: sync.Client, name: str) -> TransactionRow:
    """Return a transaction of this user, or of any user if the keys allow that. Raises: LocalError."""
    try:
        found = _found(m, all_users=True)
    except LocalError:
        found = _found(m, all_users=False)
    for row in found.transactions:
        if row.name == name:
            return row
    away = f" No answer from {', '.join(found.missing)}." if found.missing else ""
    what = f"No transaction {name!r} is prepared.{away}"
    raise LocalError(what, hint="List them with `mesh tx ls`.", code="NO_TRANSACTION")


def _name(row: TransactionRow) -> str:
    return harmless(row.name or f"{row.node}/?")


def _age(row: TransactionRow) -> str:
    return f"{max(0, time.time() - row.since / 1e9):,.0f} s" if row.since else ""
