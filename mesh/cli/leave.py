"""`mesh leave`: leaves a mesh that has keys."""

import os

import click

from mesh.cli import options
from mesh.cli.options import print_message, tell_json
from mesh.cli.token import only
from mesh.local.localnodes import running_nodes
from mesh.local.private import state_dir
from mesh.printable import typed
from mesh.security.joining import ELSEWHERE, leave
from mesh.security.keyfiles import clusters, mesh_path


@click.command("leave")
@options.keyed_mesh
@options.as_json
def command(cluster: str | None, as_json: bool) -> None:
    """Leave a mesh: this user's nodes and programs on this machine can no longer connect to it.

    The keys are moved aside, not deleted, as they may be the last copy. Running nodes keep their data, and
    stay in the mesh until they are stopped.
    """
    state = state_dir(os.environ)
    name = cluster or only(clusters(state), ELSEWHERE)
    kept = leave(state, name)
    names = [n["name"] for n in running_nodes(state) if n["cluster"] == name and n["keyed"]]
    if as_json:
        tell_json({"cluster": name, "file": str(kept), "running": names})
        return
    print_message(f"you have left mesh {name!r}; its keys are in {kept}")
    there, back = typed(kept), typed(mesh_path(state, name))
    print_message(f"to restore them:  mv {there} {back}")
    print_message(f"to destroy them:  rm {there}")
    if names:
        print_message(f"These nodes stay in it until `mesh down --url NAME` stops them:  {', '.join(names)}")
