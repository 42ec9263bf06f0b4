"""The address of a client's node, and the credentials for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mesh.client.access import Access, access
from mesh.client.find import find_node
from mesh.errors import BadName, KeysRefused, NodeNotFound
from mesh.names import node_name
from mesh.printable import typed


@dataclass
class NodeAddress:
    """The node that the user named, by an address or a name, and the mesh whose keys are used."""

    address: str | None
    cluster: str | None
    environ: Mapping[str, str]

    def find_access(self, home: str) -> Access:
        """Return the credentials for the node's current address; `home` names the last node of the client.

        Raises: NodeNotFound, KeysRefused, DataDirRefused.
        """
        place = find_node(self.address, self.environ, home)
        try:
            return access(place, self.cluster, self.environ)
        except KeysRefused as error:
            given = self.address or self.environ.get("MESH_URL") or ""
            if not may_be_node(given):
                raise
            # A node of that name may start later, and a local node needs no keys.
            why = _continued(error.what)
            what = f"No node named {given!r} runs here, and {given} cannot be dialed as a host: {why}"
            hint = f"For a host, {_continued(error.hint)} For a node here: mesh up --id {typed(given)}"
            raise NodeNotFound(what, hint=hint) from error


def _continued(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def may_be_node(given: str) -> bool:
    """Return whether a text may be the name of a node here; a text with a scheme is an address."""
    try:
        return not given.startswith(("tcp://", "ipc://")) and node_name(given) == given
    except BadName:
        return False
