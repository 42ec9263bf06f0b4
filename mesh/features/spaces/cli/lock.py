"""`mesh lock`: lists held locks, and moves their homes."""

import click
from msgspec import to_builtins

from mesh import sync
from mesh.cli import options
from mesh.cli.options import print_message, tell_json
from mesh.cli.table import tell_table
from mesh.features.spaces.cli.common import group_option, pages, stopped, to
from mesh.features.spaces.model.definition import LOCK
from mesh.printable import harmless
from mesh.wire.replies import LockRow, LockRows, read_result

group = group_option("Use the locks of the group NAME; elections are in the group elections.")


@click.group("lock")
def command() -> None:
    """List the held locks and leaders of the mesh, and move their homes."""


@command.command("ls")
@group
@options.as_json
@options.url
def ls(group: str, as_json: bool, url: str | None) -> int:
    """List the held locks of a group. Exit code 1: there are none."""
    with sync.connect(url) as m:
        found = pages(m, LockRows, "lock_ls", space=f"{LOCK}/{group}")
        rows = [row for page in found for row in page.locks]
    if as_json:
        tell_json([_plain(row) for row in rows])
    else:
        header = ("LOCK", "CLIENT", "TOKEN", "LEASE", "LEFT", "WAITING")
        tell_table(header, [_cells(row) for row in rows], folded="LOCK")
    return 0 if rows else 1


@command.command("who")
@click.argument("name", metavar="LOCK")
@group
@options.as_json
@options.url
def who(name: str, group: str, as_json: bool, url: str | None) -> int:
    """Print the client that holds LOCK, and the first waiting clients. Exit code 1: it is free."""
    with sync.connect(url) as m:
        found = read_result(LockRows, m.call("lock_ls", space=f"{LOCK}/{group}", key=name))
    if not found.locks:
        print_message(f"mesh: no client holds the lock {harmless(name)}; its home is {found.home}.")
        return 1
    row = found.locks[0]
    if as_json:
        tell_json(_plain(row))
        return 0
    waiting = ", ".join(map(harmless, row.next)) + (" …" if row.waiting > len(row.next) else "")
    rows = [
        ("client", harmless(row.client)),
        ("token", str(row.token)),
        ("lease", f"{row.lease / 1000:g} s, {row.left / 1000:.1f} s left"),
        ("waiting", f"{row.waiting:,}" + (f": {waiting}" if waiting else "")),
        ("home", found.home),
    ]
    tell_table((), rows)
    return 0


@command.command("move")
@group
@to
@click.option("--force", is_flag=True, help="The home is lost. Held locks may last 60 s longer.")
@stopped
@options.url
def move(group: str, to: str, force: bool, stopped: tuple[str, ...], url: str | None) -> None:
    """Move the locks of a group to another home. Their clients keep them, except with --force."""
    with sync.connect(url) as m:
        m.call(
            "space_move",
            space=f"{LOCK}/{group}",
            to=to,
            force=force,
            stopped=list(stopped),
            accept_loss=force,
        )
    print_message(f"the home of the locks of group {harmless(group)} is {harmless(to)}")


def _cells(row: LockRow) -> tuple[str, ...]:
    lease, left = f"{row.lease / 1000:g} s", f"{row.left / 1000:.1f} s"
    return (harmless(row.key), harmless(row.client), str(row.token), lease, left, f"{row.waiting:,}")


def _plain(row: LockRow) -> dict[str, object]:
    """Return a row as JSON, with its stream in hexadecimal."""
    return {**to_builtins(row, builtin_types=(bytes,)), "stream": row.stream.hex()}
