"""Describes the state of another node, and why it cannot be asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from mesh.discovery.member import Member, NodeLife
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.links.table import LinkState
from mesh.reasons.near import near
from mesh.reasons.reason import ago, reason
from mesh.wire.replies import Reason

SHOWN = 4  # nodes of one kind in one answer
LOOKED_AT = 1000  # nodes
CODES = {
    NodeLife.SEEN: "NODE_SEEN",
    NodeLife.SUSPECT: "NODE_SUSPECT",
    NodeLife.DEAD: "NODE_DEAD",
    NodeLife.LEFT: "NODE_LEFT",
    NodeLife.CONFLICT: "NODE_CONFLICT",
}


def standing(
    context: NodeContext, member: Member | None, peer: Peer | None, node: str, is_usable: bool
) -> Reason:
    """Return the state of a node as a reason, which counts as a cause unless the node can be asked."""
    if member is None or peer is None:
        return reason("NODE_UNKNOWN", node=node)
    link = peer.link
    if link.state is LinkState.NOT_ALLOWED:
        return reason("LINK_REFUSED", node=node, by=link.by, no=link.code, why=link.reason)
    if code := CODES.get(member.state):
        return reason(code, node=node, age=ago(context.clock.now - member.heard))
    if not is_usable:
        return reason("NOT_LINKABLE", node=node)
    return reason("NODE_ALIVE", node=node, link=link.describe(context.clock.now))


def of_node(context: NodeContext, neighbours: Neighbours, node: str) -> Iterator[Reason]:
    """Yield further reasons about the name of a node: nodes of other meshes, failed dials, similar names."""
    if node == context.me.name:
        yield reason("NODE_SELF")
        return
    yield from of_strangers(context, neighbours, node)
    member = neighbours.membership.by_name(node)
    if member is None or member.state not in (NodeLife.ALIVE, NodeLife.SUSPECT):
        yield from neighbours.acquaintances.in_vain(node, SHOWN)
    if member is None:
        names = (context.me.name, *names_of(neighbours))
        if found := near(node, names):
            yield reason("NEAR_NODE", near=found)


def strangers(context: NodeContext, neighbours: Neighbours) -> Iterator[tuple[str, str]]:
    """Yield name and address of nodes that were found with other keys and have not joined since."""
    for name, address in context.near:
        member = neighbours.membership.by_name(name)
        places = () if member is None else (member.node.address, *member.node.also)
        if _host(address) not in map(_host, places):
            yield name, address


def _host(address: str) -> str:
    return address.rpartition(":")[0]


def of_strangers(context: NodeContext, neighbours: Neighbours, node: str = "") -> Iterator[Reason]:
    """Yield at most SHOWN reasons for nodes of other meshes that are named `node`; "" matches all names."""
    others = (other for other in strangers(context, neighbours) if node in ("", other[0]))
    for name, address in islice(others, SHOWN):
        yield reason("OTHER_MESH", node=name, address=address)


def names_of(neighbours: Neighbours) -> Iterable[str]:
    """Return the names of known nodes, at most `LOOKED_AT`."""
    return (member.name for member in islice(neighbours.membership.all(), LOOKED_AT))
