"""Where is the node that a client should talk to?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mesh.errors import NodeNotFound
from mesh.local.addresses import normal
from mesh.local.localnodes import running_nodes
from mesh.local.private import state_dir


def find_node(address: str | None, environ: Mapping[str, str], home: str = "") -> str:
    """An address to dial: the one given, or that of the named or only node of this user on this machine.

    `home` is the name of the node where the client was: without an address it waits for that one, and
    never strays to another. Raises NodeNotFound, which lists the nodes there are.
    """
    wanted = address or environ.get("MESH_URL") or home
    if wanted.startswith("ipc://"):
        return wanted
    nodes = running_nodes(state_dir(environ))
    chosen = [node for node in nodes if not wanted or node["name"] == wanted]
    if len(chosen) == 1:
        return _address(chosen[0])
    if ":" in wanted and wanted != home:
        return normal(wanted)
    raise _not_found(wanted, [node["name"] for node in nodes])


def _not_found(wanted: str, names: list[str]) -> NodeNotFound:
    listed = ", ".join(names)
    if not names:
        named = f" named {wanted!r}" if wanted else ""
        hint = "Start one with `mesh up`, or give --url ADDRESS."
        return NodeNotFound(f"no node{named} runs here, for this user.", hint=hint)
    if wanted:
        hint = f"Choose one with --url NAME, or start it: mesh up --id {wanted}"
        return NodeNotFound(f"no node named {wanted!r} runs here, but {listed}.", hint=hint)
    hint = "Choose one: --url NAME, or MESH_URL=NAME."
    return NodeNotFound(f"{len(names)} nodes run here: {listed}.", hint=hint, code="MANY_NODES")


def _address(node: dict[str, Any]) -> str:
    return str(node["ipc"] or node["tcp"])
