"""Who is alive, in this mesh and in other sites? What `views` gives."""

from __future__ import annotations

from msgspec import Struct

from mesh.wire.replies import SiteRow

__all__ = ["SiteRow", "SitesReply", "Views"]


class SitesReply(Struct, frozen=True):
    """Of a reply to "sites", what `views` gives."""

    site: str
    sites: list[SiteRow]


class Views(Struct, frozen=True):
    """All nodes that are alive: in this mesh, and in each other site as its gateways say. A site that is not
    "up" has no nodes."""

    site: str  # that this mesh is; "": it is none
    local: list[str]  # names of nodes
    remote: dict[str, SiteRow]  # by the names of sites

    @property
    def everywhere(self) -> list[tuple[str, str]]:
        """(site, node) of all that are alive anywhere, this mesh first."""
        there = [(site, node) for site, row in self.remote.items() for node in row.nodes]
        return [(self.site, node) for node in self.local] + there
