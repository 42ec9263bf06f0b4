"""Observes which nodes are chosen for requests, and which requests reach them."""

from __future__ import annotations

from collections.abc import Callable

from mesh.features.services.node.parts import ServiceParts
from mesh.kernel.parts import Parts
from mesh.routing.requester import Requester
from mesh.wire.envelope import Envelope

Tell = Callable[[str, Envelope, str, int], None]  # kind, envelope, and the other's name and boot


def watch(parts: Parts, tell: Tell) -> None:
    """Report each envelope of requests that leaves for another node or arrives from one."""
    departing, serving, peers = (
        parts[ServiceParts].departing,
        parts[ServiceParts].serving,
        parts.neighbours.peers,
    )
    add, take = departing.add, serving.accept

    def chosen(uuid: bytes, envelope: Envelope, ttl: int) -> None:
        if uuid in peers:  # else it leaves for another site
            tell("chosen", envelope, peers[uuid].node.name, peers[uuid].node.boot)
        add(uuid, envelope, ttl)

    def reached(requester: Requester, envelope: Envelope, ttl: int) -> None:
        peer = peers.get(requester.peer) if requester.peer is not None else None
        if peer is not None:
            tell("reached", envelope, peer.node.name, peer.node.boot)
        take(requester, envelope, ttl)

    vars(departing)["add"], vars(serving)["accept"] = chosen, reached
