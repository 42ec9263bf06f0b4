"""What does a node say of itself and of those around it? Read only: asking never connects anything."""

from __future__ import annotations

from typing import Any

from discovery.member import Presence
from mesh.core.desk.desk import Desk
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.states.gossiping import Gossiping
from mesh.dialable import is_of_link
from mesh.links.table import State

ME = "0"  # the place of this node in the list, before all others


def places(neighbours: Neighbours) -> list[str]:
    """Where each node stands in a list of all: by its name."""
    return [ME, *(f"1{peer.node.name} {uuid.hex()}" for uuid, peer in neighbours.peers.items())]


def node(desk: Desk, neighbours: Neighbours, gossiping: Gossiping, place: str) -> dict[str, Any] | None:
    """The row of the node at that place; None if it is gone. Ages and round trips in seconds."""
    me = desk.me
    if place == ME:
        return {
            "name": me.name,
            "uuid": me.uuid.hex(),
            "boot": me.boot,
            "address": me.address,
            "via": "self",
            "state": "alive",
            "link": "this node",
            "data": False,
            "rtt": 0.0,
            "age": 0.0,
            **gossiping.described(me.uuid),
        }
    uuid = bytes.fromhex(place.rpartition(" ")[2])
    member, peer = neighbours.membership.of(uuid), neighbours.peers.get(uuid)
    if member is None or peer is None:
        return None
    is_gone = member.state in (Presence.DEAD, Presence.LEFT)  # then nothing links it, but it may say why
    says_no = peer.link.state is State.NOT_ALLOWED
    return {
        "name": member.name,
        "uuid": member.uuid.hex(),
        "boot": member.boot,
        "address": address(peer),
        "via": member.via,
        "state": str(member.state),
        "link": "" if is_gone and not says_no else peer.link.describe(desk.now),
        "data": peer.data is not None,
        "rtt": 0.0 if is_gone else peer.rtt,
        "age": desk.now - member.heard,
        **gossiping.described(member.uuid),
    }


def address(peer: Peer) -> str:
    """Where it was reached, unless that is of use on one link only, and it has another."""
    known = filter(None, (peer.reached, peer.node.address, *peer.node.also))
    return min(known, key=is_of_link, default="")
