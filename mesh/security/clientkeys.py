"""Selection of the keys with which a client dials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mesh.errors import KeysRefused, NodeNotFound
from mesh.local.addresses import is_loopback
from mesh.local.localnodes import running_nodes
from mesh.local.private import state_dir
from mesh.security.derive import role_secret
from mesh.security.keyfiles import MeshFile, clusters, mesh_path, read_mesh, read_site, site_path
from mesh.security.keys import Keys, Pair
from mesh.security.pins import Pins


@dataclass(frozen=True, slots=True)
class ClientKeys:
    """The keys of a client.

    `secret` is proven in HELLO, `passwd` is sent to a node that requests one, and `pins` holds the known keys
    of nodes.
    """

    curve: Keys
    secret: bytes = field(repr=False)
    passwd: str = field(default="", repr=False)
    pins: Pins | None = None
    cluster: str = ""  # the mesh of these keys


def client_keys(environ: Mapping[str, str], cluster: str | None, address: str) -> ClientKeys | None:
    """Return the keys with which a client of this user dials `address`, or None if it needs none.

    The mesh is `cluster`, else MESH_CLUSTER, else that of the local node with this address, else the only one
    with keys of this user. Raises KeysRefused if this user has no keys of that mesh, or has keys of several
    meshes to choose from. In both cases, raises NodeNotFound instead for a local address without a running
    node of this user.
    """
    if not address.startswith("tcp:"):
        return None
    state = state_dir(environ)
    wanted = cluster or environ.get("MESH_CLUSTER") or ""
    if not wanted:
        node = _node_here(state, address)
        if node is not None and not node["keyed"]:
            return None
        wanted = node["cluster"] if node is not None else _only(clusters(state), address)
    if not wanted:
        return None
    file = read_mesh(state, wanted)
    if file is None:
        if _needs_none(_node_here(state, address), wanted, address):
            return None
        what = f"This user has no keys for mesh {wanted!r}: {mesh_path(state, wanted)} does not exist."
        raise KeysRefused(what, hint="Run `mesh token` on a node of that mesh, and `mesh join` here.")
    return _of_client(file, Pins(state, file.cluster))


def site_keys(environ: Mapping[str, str], site: str) -> ClientKeys:
    """Return the keys with which clients of this user dial nodes of another site. Raises: KeysRefused."""
    state = state_dir(environ)
    file = read_site(state, site, is_client=True)
    if file is None:
        what = (
            f"This user has no client keys for the site {site!r}: {site_path(state, site, True)} is missing."
        )
        hint = f"Run `mesh token --role client` in that site, and `mesh join --site {site}` here."
        raise KeysRefused(what, hint=hint)
    return _of_client(file, Pins(state, f"@{site}"))


def _needs_none(node: dict[str, Any] | None, cluster: str, address: str) -> bool:
    """Return whether `node` has no keys and belongs to the mesh `cluster`.

    Raises: NodeNotFound, if `node` is None and the address is local.
    """
    if node is None and is_loopback(address):  # only a local mesh may be without keys
        hint = "The node may be starting. For a node of another user, first run `mesh join` with a token of "
        hint += f"the mesh {cluster!r}."
        raise NodeNotFound(f"No node of this user runs at {address}.", hint=hint)
    return node is not None and not node["keyed"] and node["cluster"] == cluster


def _of_client(file: MeshFile, pins: Pins) -> ClientKeys:
    secret = role_secret(file.secret, file.cluster, "node") if file.role == "node" else file.secret
    return ClientKeys(
        Keys(Pair(file.public, file.private), Pair(file.server)), secret, file.passwd, pins, file.cluster
    )


def _only(names: list[str], address: str) -> str:
    if len(names) > 1:
        listed = ", ".join(names)
        if is_loopback(address):
            hint = f"Start the node again. For a node of another user, set MESH_CLUSTER to one of {listed}."
            raise NodeNotFound(f"No node of this user runs at {address}.", hint=hint)
        hint = "Choose one: cluster=NAME in a program, or MESH_CLUSTER=NAME."
        raise KeysRefused(f"This user has keys for {len(names)} meshes: {listed}.", hint=hint)
    return names[0] if names else ""


def _node_here(state: Path, address: str) -> dict[str, Any] | None:
    if is_loopback(address):
        for node in running_nodes(state):
            if str(node["tcp"]).rpartition(":")[2] == address.rpartition(":")[2]:
                return node
    return None
