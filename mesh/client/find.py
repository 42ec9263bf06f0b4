"""Finds the node that a client should connect to."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mesh.errors import NodeNotFound
from mesh.local.addresses import PORT, with_port
from mesh.local.localnodes import running_nodes
from mesh.local.private import state_dir
from mesh.printable import typed
from mesh.security.keyfiles import clusters, read_mesh


def find_node(address: str | None, environ: Mapping[str, str], home: str = "") -> str:
    """Return the address to dial for `address`, which may be the name of one of this user's local nodes.

    Without `address`, MESH_URL is used, else the user's only local node. A text with a dot or colon is an
    address if no local node has that name; the default port is 7710. `home` is the last node of the client; a
    client without an address returns only to that node. Raises: NodeNotFound, which lists the running nodes.
    """
    given = address or environ.get("MESH_URL") or ""
    wanted = given or home
    if wanted.startswith("ipc://"):
        return wanted
    state = state_dir(environ)
    nodes = running_nodes(state)
    chosen = [node for node in nodes if not wanted or node["name"] == wanted]
    if len(chosen) == 1:
        return _address(chosen[0])
    if (":" in wanted and wanted != home) or "." in given:
        return with_port(wanted)
    if not wanted and not nodes and _is_guest(state):
        place = f"tcp://HOST:{PORT}"
        hint = f'Dial a node of another machine or user: --url {place}, or mesh.connect("{place}").'
        raise NodeNotFound("No node of this user runs here.", hint=hint)
    raise _not_found(wanted, [node["name"] for node in nodes])


def _not_found(wanted: str, names: list[str]) -> NodeNotFound:
    listed = ", ".join(names)
    if wanted:
        start, host = f"mesh up --id={shlex.quote(wanted)}", typed(f"tcp://{wanted}")
        hint = f"start that one: {start}; for a host: --url {host}"
        if not names:
            what = f"No node named {wanted!r} of this user runs here."
            return NodeNotFound(what, hint=f"Choose another node with --url ADDRESS, or {hint}")
        what = f"No node named {wanted!r} was found. Your nodes here: {listed}."
        return NodeNotFound(what, hint=f"Choose a node with --url NAME, or {hint}")
    if not names:
        hint = "Start one with `mesh up`, pass --url ADDRESS, or run one in your program: mesh.node()."
        return NodeNotFound("No node of this user runs here.", hint=hint)
    hint = "Choose one: --url NAME, or MESH_URL=NAME."
    return NodeNotFound(f"{len(names)} nodes run here: {listed}.", hint=hint, code="MANY_NODES")


def _is_guest(state: Path) -> bool:
    """Return whether this user has keys, but none that can start a node here."""
    files = [read_mesh(state, cluster) for cluster in clusters(state)]
    return bool(files) and all(file is not None and file.role != "node" for file in files)


def _address(node: dict[str, Any]) -> str:
    return str(node["ipc"] or node["tcp"])
