"""`mesh join`: joins a mesh that has keys."""

import os
import sys
import time
from pathlib import Path

import click

from mesh.cli import options
from mesh.cli.options import print_message, tell_json
from mesh.cli.streams import read_text
from mesh.errors import KeysRefused
from mesh.local.private import state_dir
from mesh.regular import open_regular
from mesh.security.derive import ADMIN, RELAY
from mesh.security.joining import join, join_admin, join_site
from mesh.security.keyfiles import mesh_path
from mesh.security.token import LONGEST, Token, read_token

NEXT = {
    "node": "start a node:  mesh up{}",
    "client": "dial a node:  mesh ls --url tcp://HOST:7710",
    "monitor": "list the nodes:  mesh ls --url tcp://HOST:7710",
}


@click.command("join")
@click.argument("token", required=False)
@click.option(
    "--file", "path", type=click.Path(path_type=Path), metavar="FILE", help="Read the token from FILE."
)
@click.option(
    "--replace",
    is_flag=True,
    help="Leave another mesh of the same name first. With --site: replace the keys for that site.",
)
@click.option(
    "--passwd", is_flag=True, help="Prompt for the password that nodes of the mesh require, and save it."
)
@click.option(
    "--site",
    metavar="NAME",
    help="Save the keys of a token from the site in [sites.NAME]: for gateways to that site, or for clients.",
)
@options.as_json
def command(
    token: str | None, path: Path | None, replace: bool, passwd: bool, site: str | None, as_json: bool
) -> None:
    """Join a mesh with a token from `mesh init` or `mesh token`. The prompt for the token does not echo.

    Scripts pass the token on stdin, with --file, or in the environment variable MESH_TOKEN. An argument TOKEN
    is visible to every user of this machine in the list of processes; a TOKEN of - means stdin. The keys are
    saved in a file that only this user can read, so a token is needed only once.
    """
    state = state_dir(os.environ)
    text = typed(token, path)
    if site is not None:
        if passwd:
            raise click.UsageError("--passwd cannot be used with --site: gateways have no password.")
        _join_site(state, site, read_token(text, time.time()), replace, as_json)
        return
    given = read_token(text, time.time())
    if given.role == ADMIN:
        _join_admin(state, given, as_json)
        return
    asked = click.prompt("password", hide_input=True, err=True) if passwd else ""
    file, is_new, left = join(state, given, asked, replace)
    kept = mesh_path(state, file.cluster)
    if as_json:
        tell_json({"cluster": file.cluster, "role": file.role, "file": str(kept), "changed": is_new})
        return
    name = "" if file.cluster == "default" else f" --cluster {file.cluster}"
    if left is not None:
        print_message(f"you have left the other mesh {file.cluster!r}; its keys are in {left}")
    if not is_new:
        print_message(f"no change: you are already in mesh {file.cluster!r}, as a {file.role}")
        return
    print_message(f"you have joined mesh {file.cluster!r}, as a {file.role}; the keys are in {kept}")
    print_message(NEXT[file.role].format(name))
    if file.role == "node":
        print_message(f"Restart the nodes of mesh {file.cluster!r} that already run here.")


def _join_admin(state: Path, token: Token, as_json: bool) -> None:
    kept, is_new = join_admin(state, token)
    if as_json:
        tell_json({"cluster": token.cluster, "role": token.role, "file": str(kept), "changed": is_new})
    elif is_new:
        print_message(
            f"you may change the rules of all nodes of mesh {token.cluster!r}; the key is in {kept}"
        )
        print_message("to list them:  mesh rule ls")
    else:
        print_message(f"no change: the key of the admin of {token.cluster!r} is here")


def _join_site(state: Path, site: str, token: Token, replace: bool, as_json: bool) -> None:
    kept, is_new = join_site(state, site, token, replace)
    is_relay = token.role == RELAY
    if as_json:
        tell_json({"site": site, "cluster": token.cluster, "file": str(kept), "changed": is_new})
    elif is_new and not is_relay:
        print_message(f"clients of this user may go to the site {site!r}; the keys are in {kept}")
    elif is_new:
        print_message(f"gateways of this user may dial the site {site!r}; the keys are in {kept}")
        print_message("To apply them to a running gateway:  mesh config reload")
    else:
        print_message(f"no change: the keys for the site {site!r} are here")


def typed(token: str | None, path: Path | None) -> str:
    """Return the token from the argument, the file, the environment, a prompt or stdin."""
    if token is not None and path is not None:
        raise click.UsageError("Give either TOKEN or --file, not both.")
    if path is not None:
        return _read(path)
    if token is not None and token != "-":
        print_message(
            "mesh: a command line is visible to every user of this machine, and stays in your "
            "shell's history."
        )
        print_message("      Next time run  mesh join  alone, and paste the token.")
        return token
    if token is None and (found := os.environ.get("MESH_TOKEN")):
        return found
    if token is None and sys.stdin.isatty():
        return str(click.prompt("token", hide_input=True, err=True))
    return read_text(lambda stdin: stdin.read(2 * LONGEST))


def _read(path: Path) -> str:
    try:
        with open_regular(path) as file:
            return file.read(2 * LONGEST).decode(errors="replace")
    except OSError as error:
        what = f"{path} cannot be read: {error.strerror or error}."
        raise KeysRefused(
            what,
            hint="Check the name and the permissions of the file, or paste the token: mesh join. "
            "From a pipe: mesh join -",
            code="TOKEN",
        ) from error
