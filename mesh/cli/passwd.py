"""`mesh passwd`: prints the hash of a password, for the configuration of a node."""

import secrets
import sys

import click

from mesh.cli.options import print_message
from mesh.cli.streams import read_text
from mesh.errors import KeysRefused
from mesh.password import SALT_BYTES, hashed


@click.command("passwd")
def command() -> None:
    """Prompt for a password and print its hash, for `passwd` in [node] of a mesh.toml.

    Over the network, a node with a password accepts only peers and clients that send it and have the keys of
    the mesh. Clients on its local socket and gateways of other sites need no password. Without a terminal,
    the password is read from stdin.
    """
    if sys.stdin.isatty():
        passwd = click.prompt("password", hide_input=True, confirmation_prompt="again", err=True)
    else:
        passwd = read_text(lambda stdin: stdin.readline()).rstrip("\r\n")
    if not passwd:
        hint = "Enter a password, or pass one on the first line of stdin."
        raise KeysRefused("The password is empty.", hint=hint, code="PASSWORD")
    click.echo(hashed(passwd, secrets.token_bytes(SALT_BYTES)))
    print_message("In the node's mesh.toml, below [node]:  passwd = the line above, in quotes")
    print_message("Clients:  mesh join --passwd.  Other nodes: passwd below [nodes.NAME] in their files.")
