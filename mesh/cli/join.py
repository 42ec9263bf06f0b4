"""`mesh join`: come into a mesh that has keys."""

import os
import sys
import time

import click

from mesh.cli import options
from mesh.cli.options import say, tell_json
from mesh.local.private import state_dir
from mesh.security.joining import join
from mesh.security.keyfiles import mesh_path
from mesh.security.token import LONGEST, read_token

NEXT = {
    "node": "start a node:  mesh up{}",
    "client": "dial a node:  mesh ls --url tcp://HOST:7710",
    "monitor": "look around:  mesh ls --url tcp://HOST:7710",
}


@click.command("join")
@click.argument("token", envvar="MESH_TOKEN")
@click.option("--passwd", is_flag=True, help="Ask for the password that its nodes want, and remember it.")
@options.as_json
def command(token: str, passwd: bool, as_json: bool) -> None:
    """Join a mesh, with a TOKEN from `mesh init` or `mesh token`; - reads it from stdin.

    It is kept for this user in a file that only he can read, and is needed once. The environment may hold
    it too: MESH_TOKEN.
    """
    state = state_dir(os.environ)
    text = sys.stdin.read(2 * LONGEST) if token == "-" else token
    asked = click.prompt("password", hide_input=True, err=True) if passwd else ""
    file, is_new = join(state, read_token(text, time.time()), asked)
    path = mesh_path(state, file.cluster)
    if as_json:
        tell_json({"cluster": file.cluster, "role": file.role, "file": str(path), "changed": is_new})
        return
    name = "" if file.cluster == "default" else f" --cluster {file.cluster}"
    if not is_new:
        say(f"nothing to do: you are in mesh {file.cluster!r}, as a {file.role}")
        return
    say(f"you are in mesh {file.cluster!r}, as a {file.role}; the keys are in {path}")
    say(NEXT[file.role].format(name))
    if file.role == "node":
        say("A node of it that runs here already has to be started again.")
