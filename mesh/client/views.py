"""The result of `views`: the nodes that are alive in this mesh and in other sites."""

from __future__ import annotations

from msgspec import Struct

from mesh.wire.replies import SiteRow

__all__ = ["SiteRow", "SitesReply", "Views"]


class SitesReply(Struct, frozen=True):
    """The part of a reply to "sites" that `views` reads."""

    site: str
    sites: list[SiteRow]


class Views(Struct, frozen=True):
    """The nodes that are alive in this mesh, and in each other site as its gateways report them.

    A site that is not "up" has no nodes.

    Example:
        views = await m.views()
        print(len(views.local), list(views.remote))
    """

    site: str  # this mesh's name as a site; "": none
    local: list[str]  # names of nodes
    remote: dict[str, SiteRow]  # by site name

    @property
    def everywhere(self) -> list[tuple[str, str]]:
        """Pairs of site and node for all nodes that are alive, this mesh first."""
        there = [(site, node) for site, row in self.remote.items() for node in row.nodes]
        return [(self.site, node) for node in self.local] + there
