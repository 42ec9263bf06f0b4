"""`mesh context`: manages names for nodes that are often asked."""

import os
import re
import time
from dataclasses import asdict, replace
from pathlib import Path

import click

from mesh.cli import contexts, options
from mesh.cli.completing import complete_contexts
from mesh.cli.contexts import Context, Contexts
from mesh.cli.options import print_data, print_message, tell_json
from mesh.cli.table import tell_table
from mesh.errors import BindRefused
from mesh.local.addresses import with_port
from mesh.names import NAME, node_name

LONGEST_PATH = 1000  # characters of ipc://PATH
HEADER = ("CONTEXT", "NODE", "MESH", "STATE")


@click.group("context")
def command() -> None:
    """Manage contexts: named nodes, and the access to them, for all verbs that ask a node.

    Options (such as --url) and the environment take precedence. MESH_CONTEXT selects a context for one shell.
    Programs ignore contexts: they use their own arguments, or MESH_URL.
    """


@command.command("ls")
@options.as_json
def ls(as_json: bool) -> int:
    """List the contexts; `*` marks the one in use. Exit code 1: no context exists."""
    found = contexts.read(os.environ)
    chosen = found.chosen(os.environ)
    if as_json:
        tell_json([{"name": name, "used": name == chosen, **asdict(it)} for name, it in found.named.items()])
    elif not found.named:
        print_message("no context exists.  To add one:  mesh context add NAME --url ADDRESS")
    else:
        rows = [(f"{n} *" if n == chosen else n, *_cells(it)) for n, it in found.named.items()]
        tell_table(HEADER, rows, folded="NODE", dropped=("STATE",))
    return 0 if found.named else 1


def _cells(it: Context) -> tuple[str, str, str]:
    return it.url or "-", it.cluster or "-", it.state or "-"


@command.command("show")
@click.argument("name", required=False, shell_complete=complete_contexts)
@options.as_json
def show(name: str | None, as_json: bool) -> int:
    """Print the context NAME, or the one in use. Exit code 1: none is in use."""
    found = contexts.read(os.environ)
    chosen = found.chosen(os.environ) if name is None else name
    if not chosen:
        print_message("no context is in use.  To use one:  mesh context use NAME")
        return 1
    it = found.get(chosen, is_from_environ=name is None)
    if as_json:
        tell_json({"name": chosen, **asdict(it)})
    else:
        print_data([f"name     {chosen}", *(f"{key:9}{value}" for key, value in asdict(it).items() if value)])
    return 0


@command.command("add")
@click.argument("name")
@click.option(
    "--url", default="", metavar="ADDRESS", help="Node to ask: its name, tcp://HOST[:PORT] or ipc://PATH."
)
@click.option(
    "--cluster",
    default="",
    metavar="NAME",
    help="Use the keys of the mesh NAME. Default: the only mesh with keys of this user.",
)
@click.option(
    "--state", default="", metavar="DIR", help="Read keys from the state directory DIR. Default: your own."
)
@click.option(
    "--token",
    "token",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="First join the mesh of the token in FILE.",
)
@click.option("--use", is_flag=True, help="Use this context from now on.")
def add(name: str, url: str, cluster: str, state: str, token: Path | None, use: bool) -> None:
    """Add the context NAME, or change the given fields of an existing one.

    Contexts are stored in your configuration directory, in contexts.json, a file that only you can read.
    """
    found = contexts.read(os.environ)
    node_name(name)
    said = {
        "url": _node(url) if url else "",
        "cluster": node_name(cluster) if cluster else "",
        "state": str(_place(state)) if state else "",
    }
    it = replace(found.named.get(name, Context()), **{key: value for key, value in said.items() if value})
    if token is not None:
        it = replace(it, cluster=_joined(token, it.state))
    if it == Context():
        raise click.UsageError("Give at least one of --url, --cluster, --state and --token.")
    path = contexts.write(Contexts({**found.named, name: it}, name if use else found.used), os.environ)
    print_message(
        f"context {name} was added in {path}" + ("" if use else f".  To use it:  mesh context use {name}")
    )


def _place(state: str) -> Path:
    try:
        return Path(state).expanduser().absolute()
    except RuntimeError as error:
        user = state.partition("/")[0]
        what = f"--state {state}: the home directory {user} cannot be determined. Write the whole path."
        raise click.UsageError(what) from error


def _node(url: str) -> str:
    """Return `url` as an address for --url. Raises: BindRefused for an unusable address."""
    if url.startswith("ipc://"):
        if url.isprintable() and 6 < len(url) <= LONGEST_PATH:
            return url
        hint = f"Write ipc:// and a path, with at most {LONGEST_PATH:,} printable characters together."
        raise BindRefused(f"{url[:80]!r} is not the address of a local socket.", hint=hint)
    return url if re.fullmatch(NAME, url) else with_port(url)


def _joined(token: Path, state: str) -> str:
    """Join the mesh of the token, and return the name of the mesh."""
    from mesh.cli.join import typed
    from mesh.local.private import state_dir
    from mesh.security.joining import join
    from mesh.security.token import read_token

    place = state_dir({**os.environ, **({"MESH_STATE_DIR": state} if state else {})})
    return join(place, read_token(typed(None, token), time.time()), "", False)[0].cluster


@command.command("use")
@click.argument("name", required=False, shell_complete=complete_contexts)
@click.option("--none", is_flag=True, help="Use no context from now on.")
def use(name: str | None, none: bool) -> None:
    """Use the context NAME from now on, in all shells."""
    if (name is None) != none:
        raise click.UsageError("Give either NAME or --none.")
    found = contexts.read(os.environ)
    if name is not None:
        found.get(name)
    contexts.write(Contexts(found.named, name or contexts.NONE), os.environ)
    print_message(f"context {name} is now in use" if name else "no context is in use now")
    if "MESH_CONTEXT" in os.environ:
        print_message(f"this shell still uses another one: MESH_CONTEXT is {os.environ['MESH_CONTEXT']!r}")


@command.command("rm")
@click.argument("name", shell_complete=complete_contexts)
def rm(name: str) -> None:
    """Remove the context NAME. The keys of its mesh stay: see `mesh leave`."""
    found = contexts.read(os.environ)
    found.get(name)
    left = {other: it for other, it in found.named.items() if other != name}
    contexts.write(Contexts(left, contexts.NONE if found.used == name else found.used), os.environ)
    print_message(f"context {name} was removed")
