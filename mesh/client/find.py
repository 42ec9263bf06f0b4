"""Where is the node that a client should talk to?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mesh.errors import NodeNotFound
from mesh.local.addresses import normal
from mesh.local.localnodes import running_nodes
from mesh.local.private import state_dir


def find_node(address: str | None, environ: Mapping[str, str]) -> str:
    """An address to dial: the one given, or that of the named or only node of this user on this machine.

    Raises NodeNotFound, which lists the nodes there are.
    """
    wanted = address or environ.get("MESH_URL") or None
    if wanted is not None and (wanted.startswith("ipc://") or ":" in wanted):
        return wanted if wanted.startswith("ipc://") else normal(wanted)
    nodes = running_nodes(state_dir(environ))
    if wanted is not None:
        nodes = [node for node in nodes if node["name"] == wanted]
    if len(nodes) == 1:
        return _address(nodes[0])
    if nodes:
        names = ", ".join(node["name"] for node in nodes)
        raise NodeNotFound(
            f"{len(nodes)} nodes run here: {names}.",
            hint="Choose one: --url NAME, or MESH_URL=NAME.",
            code="MANY_NODES",
        )
    where = f"no node named {wanted!r} runs here" if wanted else "no node runs here"
    raise NodeNotFound(f"{where}, for this user.", hint="Start one with `mesh up`, or give --url ADDRESS.")


def _address(node: dict[str, Any]) -> str:
    return str(node["ipc"] or node["tcp"])
