"""Where is a client's node now, and with what does it come in there?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mesh.client.access import Access, access
from mesh.client.find import find_node


@dataclass
class NodeAddress:
    """The address as the user said it: an address or a name, and the mesh whose keys are used."""

    address: str | None
    cluster: str | None
    environ: Mapping[str, str]

    def find(self, home: str) -> Access:
        """`home`: the name of the node where the client was. NodeNotFound, KeysRefused, DataDirRefused."""
        return access(find_node(self.address, self.environ, home), self.cluster, self.environ)
