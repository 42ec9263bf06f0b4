"""Nodes and rumours, as they travel and as membership knows them."""

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from discovery import member
from discovery.member import BOOTS, Node, Presence
from mesh.dialable import is_dialable
from mesh.errors import RemoteError
from mesh.wire.commands import Introduction, Rumour

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
LONGEST, KEY = 300, 32  # letters of an address, bytes of a key
UUID = 16  # bytes
ADDRESSES = 8  # of one node
KNOWN = 4096  # introductions that were looked at; who comes into a crowd hears all of them from each of it


@lru_cache(KNOWN)
def as_node(said: Introduction) -> Node:
    """The node that somebody introduces; RemoteError when there can be no such node."""
    if len(said.uuid) != UUID:
        raise RemoteError("an introduction without a uuid of 16 bytes")
    if _NAME.fullmatch(said.name) is None or len(said.gossip) > LONGEST or len(said.key) not in (0, KEY):
        raise RemoteError(f"an introduction that cannot be: {said.name[:80]!r}")
    if not said.boot < BOOTS:
        raise RemoteError(f"an introduction of boot {said.boot}, of at most {BOOTS - 1}")
    if len(said.also) > ADDRESSES:
        raise RemoteError(f"an introduction with {len(said.also)} addresses, at most {ADDRESSES}")
    for address in (said.address, *said.also):
        if address and not is_dialable(address):
            raise RemoteError(f"an introduction with the address {address[:80]!r}, not tcp://IP:PORT")
    return Node(*msgspec.structs.astuple(said))


def as_introduction(node: Node) -> Introduction:
    return Introduction(node.uuid, node.name, node.boot, node.address, node.also, node.gossip, node.key)


def as_rumours(said: Iterable[Rumour]) -> tuple[member.Rumour, ...]:
    """RemoteError for a state that there is not."""
    try:
        return tuple(member.Rumour(as_node(r.node), r.incarnation, Presence(r.state), r.by) for r in said)
    except ValueError as error:
        raise RemoteError(f"a rumour that cannot be: {error}") from error


def to_wire(rumours: Iterable[member.Rumour]) -> tuple[Rumour, ...]:
    return tuple(Rumour(as_introduction(r.node), r.incarnation, str(r.state), r.by) for r in rumours)
