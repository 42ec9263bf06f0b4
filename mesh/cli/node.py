"""`mesh node`: allows and denies nodes for the whole mesh."""

from __future__ import annotations

import click
from msgspec import structs

from mesh import sync
from mesh.cli import agreed as shared
from mesh.cli import options
from mesh.cli.completing import complete_nodes
from mesh.cli.options import print_message, tell_json
from mesh.mapping.agreed import Agreed, AgreedNode
from mesh.names import node_name


@click.group("node")
def command() -> None:
    """Allow or deny nodes by name for the whole mesh. A denied node with the keys can take another name."""


@command.command("allow")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_nodes)
@shared.force
@options.as_json
@options.url
def allow(names: tuple[str, ...], force: bool, as_json: bool, url: str | None) -> None:
    """Allow links to these nodes at every node.

    The permission replaces a `deny`, and applies even at nodes whose `links` allows only configured nodes.
    """
    _set(names, True, force, as_json, url)


@command.command("deny")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_nodes)
@shared.force
@options.as_json
@options.url
def deny(names: tuple[str, ...], force: bool, as_json: bool, url: str | None) -> None:
    """Deny links to these nodes at every node.

    Denied nodes neither send nor receive messages.
    """
    _set(names, False, force, as_json, url)


@command.command("reset")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_nodes)
@shared.force
@options.as_json
@options.url
def reset(names: tuple[str, ...], force: bool, as_json: bool, url: str | None) -> None:
    """Remove the `allow` or `deny` of these nodes. The configuration of each node decides again."""
    _set(names, None, force, as_json, url)


SAID = {True: "may be linked, at every node", False: "must not be linked", None: "as in each file"}


def _set(names: tuple[str, ...], allowed: bool | None, force: bool, as_json: bool, url: str | None) -> None:
    def change(before: Agreed) -> Agreed:
        for name in map(node_name, names):
            entry = before.nodes.get(name, AgreedNode())
            before = before.with_(name, structs.replace(entry, allowed=allowed))
        return before

    with sync.connect(url) as m:
        told = shared.changed(m, change, force)
    if as_json:
        tell_json({"changed": told is not None} | (structs.asdict(told) if told is not None else {}))
    elif told is None:
        print_message("no change")
    else:
        print_message(f"{', '.join(names)}: {SAID[allowed]}, in a moment")
