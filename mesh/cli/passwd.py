"""`mesh passwd`: the hash of a password, for a node that wants one."""

import secrets
import sys

import click

from mesh.cli.options import say
from mesh.cli.streams import read_text
from mesh.errors import KeysRefused
from mesh.password import SALT_BYTES, hashed


@click.command("passwd")
def command() -> None:
    """Ask for a password and print its hash, for `passwd` in [node] of a mesh.toml.

    A node with it lets in only who tells that password, beside having the mesh's keys. stdin may give it.
    """
    if sys.stdin.isatty():
        passwd = click.prompt("password", hide_input=True, confirmation_prompt="again", err=True)
    else:
        passwd = read_text(lambda stdin: stdin.readline()).rstrip("\r\n")
    if not passwd:
        raise KeysRefused("An empty password protects nothing.", code="PASSWORD")
    click.echo(hashed(passwd, secrets.token_bytes(SALT_BYTES)))
    say("In the node's mesh.toml, below [node]:  passwd = THAT LINE, in quotes")
    say("Clients:  mesh join --passwd.  Other nodes: passwd below [nodes.NAME] of theirs.")
