"""`mesh init`: creates the keys of a mesh that spans more than this machine."""

import os
import time

import click

from mesh.cli import options
from mesh.cli.options import print_message, tell_json
from mesh.local.localnodes import running_nodes
from mesh.local.private import state_dir
from mesh.security.joining import new_admin, new_mesh, token_of
from mesh.security.keyfiles import admin_path, mesh_path
from mesh.security.token import write_token

DAY = 86_400  # s


@click.command("init")
@click.option(
    "--cluster",
    metavar="NAME",
    envvar=options.CLUSTER_VARIABLES,
    show_envvar=True,
    default="default",
    show_default=True,
    help="Name of the mesh.",
)
@click.option(
    "--admin",
    "only_admin",
    is_flag=True,
    help="Create only the key of the admin, for a mesh without an admin.",
)
@options.as_json
def command(cluster: str, only_admin: bool, as_json: bool) -> None:
    """Create the keys of a mesh on its first machine, and print a token with which other machines join.

    With keys, a node accepts connections from other machines, and all traffic between them is encrypted.
    Without keys, a mesh stays on one machine.
    """
    state = state_dir(os.environ)
    file = new_admin(state, cluster) if only_admin else new_mesh(state, cluster)
    token = write_token(token_of(file, "node", int(time.time()) + DAY))
    path = mesh_path(state, cluster)
    if as_json:
        kept = str(admin_path(state, cluster))
        tell_json({"cluster": cluster, "file": str(path), "admin": kept, "token": token})
        return
    name = "" if cluster == "default" else f" --cluster {cluster}"
    print_message(f"the keys of mesh {cluster!r} are in {path}; only you can read them")
    print_message(f"the key of its admin, who changes mesh-wide rules, is in {admin_path(state, cluster)}")
    print_message("on every other machine, within 24 hours, run  mesh join  and paste this token:")
    click.echo(token)
    print_message(f"then, on each of them and here:  mesh up{name}")
    names = [n["name"] for n in running_nodes(state) if n["cluster"] == cluster and not n["keyed"]]
    if names:
        print_message(f"Restart these nodes, which run here without keys:  {', '.join(names)}")
    print_message("Any holder of this token can run a node of the mesh: keep it as safe as a password.")
    print_message("For programs that only use the mesh:  mesh token --role client")
    print_message(f"To copy the admin's key elsewhere:  mesh token --role admin --expires never{name}")
