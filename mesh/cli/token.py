"""`mesh token`: creates a token for joining the mesh."""

import os
import re
import time

import click

from mesh.cli import options
from mesh.cli.options import plainly, print_message, tell_json
from mesh.errors import KeysRefused
from mesh.local.private import state_dir
from mesh.printable import typed
from mesh.security.derive import ADMIN, RELAY, ROLES
from mesh.security.joining import admin_token, token_of
from mesh.security.keyfiles import clusters, read_mesh
from mesh.security.token import write_token

NEW_KEYS = "Create keys with `mesh init`, or receive them with `mesh join`."
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
WHAT = {
    "node": "Its holder can run a node of the mesh, and read and write everything.",
    "client": "Its holder can publish and subscribe, but not run a node.",
    "monitor": "Its holder can only read.",
    "admin": "Its holder can set mesh-wide rules, as the admin. Keep it safe.",
    "relay": "Its holder can run a gateway of that site, which writes what this site accepts.",
}


def seconds(ctx: click.Context, option: click.Parameter, text: str) -> int:
    """Return the seconds of "90s", "30m", "24h" or "7d"; 0 for "never"."""
    found = re.fullmatch(r"(\d{1,6})([smhd])", text)
    if text != "never" and (found is None or not int(found[1])):
        what = f"{text!r} is not a duration above 0: write 30m, 24h, 7d or never, with at most 6 digits."
        raise click.BadParameter(what, ctx, option)
    return int(found[1]) * UNITS[found[2]] if found is not None else 0


@click.command("token")
@click.option(
    "--role",
    type=click.Choice((*ROLES, ADMIN)),
    default="node",
    show_default=True,
    help="Role that the token gives a user or node (see docs/security.md).",
)
@click.option(
    "--expires",
    callback=seconds,
    metavar="TIME",
    default="24h",
    show_default=True,
    help="Time until the token expires, such as 30m, 24h or 7d; never: no expiry.",
)
@click.option("--site", metavar="NAME", help="With --role relay: the other site's NAME in mesh.toml.")
@options.keyed_mesh
@options.as_json
def command(role: str, expires: int, site: str | None, cluster: str | None, as_json: bool) -> None:
    """Print a token that lets another user or machine join this mesh with `mesh join`.

    `mesh join` refuses an expired token. The keys in a token do not expire: they are valid until the mesh
    gets new keys.
    """
    if (role == RELAY) != (site is not None):
        raise click.UsageError(
            "Give both --role relay and --site NAME, or neither: each site needs its own token."
        )
    state = state_dir(os.environ)
    name = cluster or only(clusters(state))
    file = read_mesh(state, name)
    if file is None:
        raise KeysRefused(
            f"This user has no keys for mesh {name!r}.",
            hint=f"Create keys with `mesh init --cluster {typed(name)}`, or receive them with `mesh join`.",
        )
    until = int(time.time()) + expires if expires else 0
    made = admin_token(state, file, until) if role == ADMIN else token_of(file, role, until, site or "")
    token = write_token(made)
    if as_json:
        tell_json({"cluster": name, "role": role, "expires": until or None, "token": token})
        return
    click.echo(token)
    how_long = f"for {plainly(expires)}" if expires else "forever"
    join = f"mesh join --site NAME  (NAME: of this site in mesh.toml of {site!r})" if site else "mesh join"
    what = "makes an admin of" if role == ADMIN else f"lets a {role} into"
    print_message(f"{what} mesh {name!r}, {how_long}:  run  {join}  and paste the token")
    print_message(WHAT[role])


def only(names: list[str], otherwise: str = NEW_KEYS) -> str:
    """Return the only mesh for which this user has keys. Raises: KeysRefused for none or several.

    `otherwise` is the hint if there are none.
    """
    if len(names) == 1:
        return names[0]
    if not names:
        raise KeysRefused("This user has no keys for any mesh.", hint=otherwise)
    hint = "Choose one: --cluster NAME"
    raise KeysRefused(f"This user has keys for {len(names)} meshes: {', '.join(names)}.", hint=hint)
