"""The results of `views` and `where`: live nodes here and in other sites, and the nodes that have a name."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mesh.wire.replies import ReplyValue, Sighting, SiteRow

__all__ = ["Place", "Sighting", "SiteRow", "SitesReply", "Views", "place_of"]


class SitesReply(ReplyValue, frozen=True, kw_only=True):
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


class Place(Struct, frozen=True):
    """The nodes that have a name, as `where` found them.

    Example:
        place = await m.where("orders/price")
        print(place.kind, place.nodes)
    """

    kind: str  # "node", "client", "session", "address", "queue" or "site"
    name: str  # with its kind, such as "queue/orders": `where` accepts it
    nodes: list[str]  # names of the nodes, best first
    sightings: list[Sighting]  # one for each node: state, count, address, and by which node it was reported
    others: list[Place] = []  # other objects with the same name, such as a queue beside an address
    missing: list[str] = []  # names of nodes that did not answer


def place_of(sightings: Sequence[Sighting], missing: Sequence[str]) -> Place:
    """Return the first object in `sightings`, which are sorted, with the other objects in `others`."""
    found: dict[str, list[Sighting]] = {}
    for row in sightings:
        found.setdefault(row.name, []).append(row)
    places = [
        Place(rows[0].kind, name, [row.node for row in rows], rows, missing=list(missing))
        for name, rows in found.items()
    ]
    return replace(places[0], others=places[1:])
