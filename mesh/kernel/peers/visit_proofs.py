"""Proofs that a message of a visitor may have its route."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.kernel.peers.peer import Peer
from mesh.routing.visits import Visits
from mesh.wire.sessions import Certificate


def proof_of_route(
    visits: Visits, named: Callable[[str], Peer | None], stream: bytes, sender: str, route: Sequence[str]
) -> Certificate | None:
    """Return a certificate that lets a message have a route over the nodes of these names, or None.

    `named` finds a node by its name.
    """
    known = [named(node) for node in route]
    uuids = [None if peer is None else peer.node.uuid for peer in known]
    return visits.proof_of_route(stream, sender, uuids)
