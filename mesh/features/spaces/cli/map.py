"""`mesh map`: reads and writes maps."""

import json
import sys
import time
from typing import Any

import click
from msgspec import to_builtins

from mesh import sync
from mesh.cli import options
from mesh.cli.options import print_data, print_message, size, tell_json
from mesh.cli.table import tell_table
from mesh.errors import LocalError
from mesh.features.spaces.cli.common import accept_loss, force, pages, stopped, tell_move, to
from mesh.features.spaces.client.entry import LEAST, MOST, Entry
from mesh.features.spaces.client.watch import Change
from mesh.features.spaces.model.definition import MAP
from mesh.printable import harmless, typed
from mesh.wire.replies import SpaceDefined, SpaceList, SpaceRows, read_result

name = click.argument("name", metavar="MAP")
key = click.argument("key", metavar="KEY")
ttl = click.option(
    "--ttl",
    type=options.FiniteNumber(min=LEAST, max=MOST),
    metavar="S",
    help="Remove the value after S seconds. Default: never.",
)


stale = click.option(
    "--stale", is_flag=True, help="Accept copies, which may be old, while the home does not answer."
)


@click.group("map")
def command() -> None:
    """Read and write maps, whose values all nodes share."""


@command.command("ls")
@click.argument("name", metavar="[MAP]", required=False)
@stale
@options.as_json
@options.url
def ls(name: str | None, stale: bool, as_json: bool, url: str | None) -> int:
    """List the maps, or the values of MAP.

    Exit code 1: there are none.
    """
    with sync.connect(url) as m:
        if name is None:
            return tell_spaces(m, MAP, as_json)
        entries = m.map(name).items(fresh=not stale)
    if as_json:
        tell_json([described(entry) for entry in entries])
    else:
        rows = [(harmless(e.key), _cell(e.value), str(e.version)) for e in entries]
        tell_table(("KEY", "VALUE", "VERSION"), rows, folded="VALUE")
    return 0 if entries else 1


@command.command("create")
@name
@click.option("--home", metavar="NODE", default="", help="Keep the map at NODE. Default: the asked node.")
@click.option("--max-keys", type=click.IntRange(1, 10**6), metavar="N", help="Limit. Default: 100,000.")
@click.option(
    "--max-bytes",
    type=click.IntRange(1, 1 << 30),
    metavar="N",
    help="Limit of bytes of keys and values. Default: 64 MiB.",
)
@click.option(
    "--voter", "voters", metavar="NODE", multiple=True, help="Have NODE confirm the home. Repeatable."
)
@options.url
def create(
    name: str,
    home: str,
    max_keys: int | None,
    max_bytes: int | None,
    voters: tuple[str, ...],
    url: str | None,
) -> None:
    """Create MAP, or change its limits and voters. Without this command, the first use creates it."""
    with sync.connect(url) as m:
        at = m.map(name).declare(home=home, max_keys=max_keys, max_bytes=max_bytes, voters=voters)
    print_message(f"the home of map {harmless(name)} is {at}")


@command.command("get")
@name
@key
@stale
@options.as_json
@options.url
def get(name: str, key: str, stale: bool, as_json: bool, url: str | None) -> int:
    """Print the value of KEY. Exit code 1: there is none."""
    with sync.connect(url) as m:
        entry = m.map(name).get(key, fresh=not stale)
    if entry is None:
        print_message(f"mesh: map {harmless(name)} has no value for {harmless(key)}.")
        return 1
    if as_json:
        tell_json(described(entry))
    else:
        print_data([_text(entry.value)])
    return 0


@command.command("put")
@name
@key
@click.argument("value", metavar="[VALUE]", required=False)
@ttl
@click.option(
    "--version", type=click.IntRange(0), metavar="N", help="Only if it has version N; 0: only if it is new."
)
@options.url
def put(
    name: str, key: str, value: str | None, ttl: float | None, version: int | None, url: str | None
) -> int:
    """Set the value of KEY to the text VALUE, or to the input.

    Prints the version. Exit code 1: another version is there.
    """
    content = sys.stdin.buffer.read() if value is None else value
    with sync.connect(url) as m:
        found = m.map(name)
        if version is None:
            new: int | None = found.put(key, content, ttl=ttl)
        else:
            new = found.put_if(key, content, version=version, ttl=ttl)
    if new is None:
        see = f"mesh map get {typed(name)} {typed(key)} --json"
        print_message(f"mesh: {harmless(key)} has another version.  To see it:  {see}")
        return 1
    print_data([str(new)])
    return 0


@command.command("rm")
@name
@click.argument("key", metavar="[KEY]", required=False)
@click.option("--all", "is_all", is_flag=True, help="Remove the map with all values.")
@options.url
def rm(name: str, key: str | None, is_all: bool, url: str | None) -> int:
    """Remove the value of KEY, or the map. Exit code 1: there is no value."""
    if is_all == (key is not None):
        raise click.UsageError("Name a KEY, or use --all.")
    with sync.connect(url) as m:
        if key is not None:
            return 0 if m.map(name).remove(key) else 1
        m.map(name).drop()
    return 0


@command.command("move")
@name
@to
@force
@stopped
@accept_loss
@options.url
def move(
    name: str, to: str, force: bool, stopped: tuple[str, ...], accept_loss: bool, url: str | None
) -> int:
    """Move MAP with all values to another home.

    With --force: exit code 1 if it was not moved.
    """
    with sync.connect(url) as m:
        report = m.map(name).move(to, force=force, stopped=stopped, accept_loss=accept_loss)
    return tell_move(f"map {harmless(name)}", to, report, force)


@command.command("watch")
@name
@click.argument("pattern", default="#")
@options.most
@options.wait
@options.json_lines
@options.url
def watch(
    name: str, pattern: str, most: int | None, wait: float | None, as_json: bool, url: str | None
) -> None:
    """Print the values whose keys match PATTERN, then each change, until Ctrl-C."""
    end = None if wait is None else time.monotonic() + wait
    with sync.connect(url) as m:
        watching = m.map(name).watch(pattern)
        left = most
        while left is None or left > 0:
            change = watching.next_change(None if end is None else max(0.0, end - time.monotonic()))
            if change is None:
                return
            print_data([json.dumps(_changed(change)) if as_json else _line(change)])
            left = None if left is None else left - 1


def tell_spaces(m: sync.Client, kind: str, as_json: bool) -> int:
    """Print the spaces of a kind. Return the exit code: 1 if there are none."""
    found = [each for page in pages(m, SpaceList, "spaces", prefix=f"{kind}/") for each in page.spaces]
    if as_json:
        tell_json([to_builtins(each) for each in found])
        return 0 if found else 1
    rows = [_row(m, each) for each in found]
    tell_table(("NAME", "HOME", "KEYS", "SIZE"), rows)
    if not found:
        print_message(f"there are no {kind}s")
    return 0 if found else 1


def _row(m: sync.Client, each: SpaceDefined) -> tuple[str, str, str, str]:
    """Return the row of a space; its size is unknown while its home is unreachable."""
    name = harmless(each.name.partition("/")[2])
    try:
        state = read_result(SpaceRows, m.call("space_read", space=each.name, limit=1))
    except LocalError as error:
        return name, each.home, f"? of {each.max_keys:,}", error.code
    return name, each.home, f"{state.keys:,} of {each.max_keys:,}", size(state.bytes)


def described(entry: Entry[Any]) -> dict[str, Any]:
    """Return an entry as JSON; bytes that are no text become hexadecimal."""
    return {
        "key": entry.key,
        "value": _plain(entry.value),
        "version": entry.version,
        "expires": entry.expires,
        "stale": entry.stale,
    }


def _changed(change: Change[Any]) -> dict[str, Any]:
    value = _plain(change.value)
    return {"kind": change.kind, "key": change.key, "value": value, "version": change.version}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex()
    return value


def _text(value: Any) -> str:
    plain = _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _cell(value: Any) -> str:
    return harmless(_text(value)[:200])


def _line(change: Change[Any]) -> str:
    if change.kind == "put":
        return f"{harmless(change.key)} {_cell(change.value)}"
    return f"{harmless(change.key)} ({change.kind})" if change.key else f"({change.kind})"
