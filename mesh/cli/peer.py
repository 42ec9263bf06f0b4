"""`mesh peer`: manages the addresses that a node dials besides discovered ones."""

import os
from contextlib import suppress
from typing import Any

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import plainly, print_message, tell_json
from mesh.cli.table import tell_table
from mesh.errors import BindRefused, MeshError
from mesh.local.addresses import is_loopback, is_wildcard, with_port
from mesh.local.private import state_dir
from mesh.security.pins import forget

LAST_TRY = "LAST TRY"
HEADER = ("ADDRESS", "KIND", "NODE", "STATE", "SEEN")


@click.group("peer")
def command() -> None:
    """Manage the addresses of nodes that a node cannot discover.

    One address is enough: the node at that address introduces the others.
    """


@command.command("add")
@click.argument("address")
@options.url
def add(address: str, url: str | None) -> None:
    """Make the asked node dial ADDRESS, now and after every start.

    ADDRESS is HOST or HOST:PORT, such as 10.0.0.5, nas.example.com:7711 or [2001:db8::5]:7710. Default port:
    7710.
    """
    wanted = address_of(address)
    with sync.connect(url) as m:
        changed = m.call("peer", add=wanted)["changed"]
        is_far = not is_loopback(wanted) and not m.call("ls", limit=1).get(
            "keys"
        )  # an older release lacks the field
    news = "is dialed from now on.  To list the nodes:  mesh ls" if changed else "was already known"
    print_message(f"{wanted} {news}")
    if is_far:
        print_message("the address needs keys, and this node has none:  mesh init, or mesh join")


@command.command("rm")
@click.argument("who", metavar="ADDRESS|NAME")
@options.url
def rm(who: str, url: str | None) -> int:
    """Make the asked node forget ADDRESS, or the addresses of the node NAME.

    With NAME, this user's clients also forget the saved key of that node, and accept the next key that the
    node presents. Exit code 1: nothing was removed, because the peer is unknown, or because its address is in
    the configuration of the asked node.
    """
    written = spellings(who)
    if forget(state_dir(os.environ), who):
        print_message(f"the key of {who} was removed; the next key that it presents is accepted")
        with suppress(MeshError):  # no node here, or one with another key
            _forget_place(who, written, url)
        return 0
    return _forget_place(who, written, url)


def _forget_place(who: str, written: tuple[str, ...], url: str | None) -> int:
    with sync.connect(url) as m:
        changed = any(m.call("peer", rm=spelling)["changed"] for spelling in written)
        rows = m.call("peers")["peers"]
    is_configured = any(
        row["kind"] == "config" and {row["address"], row["node"]} & {*written} for row in rows
    )
    if changed:
        print_message(f"{who} was removed; if it is connected, it stays until it disconnects")
    if is_configured:
        print_message(f"{who} is in the node's configuration: edit that, and restart the node")
    elif changed:
        return 0
    else:
        print_message(f"{who} is not a peer.  To list the peers:  mesh peer ls")
    return 1


@command.command("ls")
@options.as_json
@options.url
def ls(as_json: bool, url: str | None) -> None:
    """List the addresses that a node dials.

    KIND: config (in the configuration or given to `mesh up`), added (by `mesh peer add`), mesh (set for all
    nodes by the admin), remembered (a node answered at the address before). SEEN: time since the last
    contact. LAST TRY: why the last attempt failed.
    """
    with sync.connect(url) as m:
        found = m.call("peers")
    if as_json:
        tell_json(found)
    elif found["peers"]:
        rows = found["peers"]
        is_told = any(row.get("why") for row in rows)  # an older release lacks the field
        header = (*HEADER, LAST_TRY) if is_told else HEADER
        tell_table(header, [_row(row, is_told) for row in rows], folded=LAST_TRY if is_told else "")
    else:
        print_message("no peers.  To add one:  mesh peer add ADDRESS")


def _row(row: dict[str, Any], is_told: bool) -> tuple[str, ...]:
    seen = row["seen"]
    cells = (
        row["address"].removeprefix("tcp://"),
        row["kind"],
        row["node"] or "-",
        row["state"] or "-",
        "-" if seen is None else plainly(seen),
    )
    why = f"{row['why']} ({plainly(row['tried'])} ago)" if row.get("why") else "-"
    return (*cells, why) if is_told else cells


def address_of(text: str) -> str:
    """Return `text` as an address to dial. Raises: BindRefused, click.UsageError."""
    address = with_port(text)
    if address.endswith(":0") or is_wildcard(address):
        raise click.UsageError(
            f"{text!r} is an address to listen on, not one to dial. Give the address of the other node."
        )
    return address


def spellings(text: str) -> tuple[str, ...]:
    """Return the forms in which a peer may be listed: `text` itself, and the full address if it is one."""
    try:
        return tuple(dict.fromkeys((text, address_of(text))))
    except (BindRefused, click.UsageError):
        return (text,)
