"""Nodes and rumours, as they travel and as membership knows them."""

from collections.abc import Iterable

import msgspec

from discovery import member
from discovery.member import Node, Presence
from mesh.errors import RemoteError
from mesh.wire.commands import Introduction, Rumour

UUID = 16  # bytes
ADDRESSES = 8  # of one node


def as_node(said: Introduction) -> Node:
    """What somebody said of a node; RemoteError when that cannot be."""
    if len(said.uuid) != UUID:
        raise RemoteError("an introduction without a uuid of 16 bytes")
    if len(said.also) > ADDRESSES:
        raise RemoteError(f"an introduction with {len(said.also)} addresses, at most {ADDRESSES}")
    return Node(*msgspec.structs.astuple(said))


def as_introduction(node: Node) -> Introduction:
    return Introduction(
        node.uuid, node.name, node.boot, node.address, node.also, node.gossip, node.key
    )  # fmt: skip


def as_rumours(said: Iterable[Rumour]) -> tuple[member.Rumour, ...]:
    """RemoteError for a state that there is not."""
    try:
        return tuple(
            member.Rumour(as_node(r.node), r.incarnation, Presence(r.state), r.by) for r in said
        )  # fmt: skip
    except ValueError as error:
        raise RemoteError(f"a rumour that cannot be: {error}") from error


def to_wire(rumours: Iterable[member.Rumour]) -> tuple[Rumour, ...]:
    return tuple(
        Rumour(as_introduction(r.node), r.incarnation, str(r.state), r.by) for r in rumours
    )  # fmt: skip
