"""The address of a client's node, and the credentials for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mesh.client.access import Access, access, site_access
from mesh.client.find import find_node
from mesh.errors import BadName, KeysRefused, NodeNotFound
from mesh.local.localnodes import running_nodes
from mesh.local.private import state_dir
from mesh.names import node_name
from mesh.printable import typed


@dataclass
class NodeAddress:
    """The node that the user named, by an address or a name, and the mesh whose keys are used."""

    address: str | None
    cluster: str | None
    environ: Mapping[str, str]
    elsewhere: dict[str, tuple[str, str | None]] = field(default_factory=dict)  # by name: address and mesh
    _last: Access | None = None  # of the last node that was named or is the client's

    def find_access(self, home: str, place: str = "", site: str = "") -> Access:
        """Return the credentials for the current address of the node `place`, an address or a name.

        Without a `place`, the node is that of the client; `home` names the last one. Raises: NodeNotFound,
        KeysRefused, DataDirRefused. In another `site`, it is an address.
        """
        if site:
            return site_access(place, site, self.environ)
        wanted = place or self.address
        wanted, cluster = self.elsewhere.get(wanted or "", (wanted, self.cluster))
        found = find_node(wanted, self.environ, "" if place else home)
        is_address = place.startswith("tcp://")
        try:
            it = access(found, cluster or (self._mesh() if is_address else None), self.environ)
            if not is_address:
                self._last = it
            return it
        except KeysRefused as error:
            given = wanted or self.environ.get("MESH_URL") or ""
            if not may_be_node(given):
                raise
            # A node of that name may start later, and a local node needs no keys.
            why = _continued(error.what)
            what = f"No node named {given!r} runs here, and {given} cannot be dialed as a host: {why}"
            hint = f"For a host, {_continued(error.hint)} For a node here: mesh up --id {typed(given)}"
            raise NodeNotFound(what, hint=hint) from error

    def _mesh(self) -> str | None:
        """Return the mesh with keys of the last node, which named the other nodes; `None` if unknown."""
        if self._last is None or self._last.cluster:
            return self._last.cluster if self._last is not None else None
        here = running_nodes(state_dir(self.environ))
        address = self._last.address
        return next((it["cluster"] for it in here if it["ipc"] == address and it["keyed"]), None)


def _continued(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def may_be_node(given: str) -> bool:
    """Return whether a text may be the name of a node here; a text with a scheme is an address."""
    try:
        return not given.startswith(("tcp://", "ipc://")) and node_name(given) == given
    except BadName:
        return False
