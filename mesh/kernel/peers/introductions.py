"""Conversion of nodes and rumors between the wire and membership."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from msgspec.structs import astuple, replace

from mesh.dialable import is_dialable
from mesh.discovery import member
from mesh.discovery.member import BOOTS, Node, NodeLife
from mesh.errors import RemoteError
from mesh.wire.commands import Introduction, Rumour
from mesh.wire.metadata import NOTHING

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
LONGEST, KEY = 300, 32  # characters of an address, bytes of a key
UUID = 16  # bytes
ADDRESSES = 8  # of one node
KNOWN = 4096  # cached introductions: in a crowd they repeat


def as_node(said: Introduction) -> Node:
    """Return the introduced node. Raises: RemoteError for an invalid introduction."""
    return _checked(*astuple(said)[:-1])


@lru_cache(KNOWN)
def _checked(*said: Any) -> Node:
    node = Node(*said)
    if len(node.uuid) != UUID:
        size = f"length {len(node.uuid)} instead of {UUID}"
        raise RemoteError(f"the introduction of {node.name[:80]!r} has a uuid with {size}")
    if _NAME.fullmatch(node.name) is None:
        raise RemoteError(f"an introduction has the invalid name {node.name[:80]!r}")
    whose = f"the introduction of {node.name}"
    if len(node.gossip) > LONGEST:
        size = f"{len(node.gossip)} characters; the limit is {LONGEST}"
        raise RemoteError(f"{whose} has a gossip address of {size}")
    if len(node.key) not in (0, KEY):
        raise RemoteError(f"{whose} has a key of {len(node.key)} bytes instead of {KEY}")
    if not node.boot < BOOTS:
        raise RemoteError(f"{whose} has boot {node.boot}, above the limit of {BOOTS - 1}")
    if len(node.also) > ADDRESSES:
        raise RemoteError(f"{whose} has {len(node.also)} additional addresses; the limit is {ADDRESSES}")
    for address in (node.address, *node.also):
        if address and not is_dialable(address):
            raise RemoteError(f"{whose} has the address {address[:80]!r}, which cannot be dialed")
    return node


def without_metadata(said: Introduction) -> Introduction:
    """Return an introduction without its metadata, which is valid only if the node itself sends it."""
    return replace(said, metadata=NOTHING)


def as_introduction(node: Node) -> Introduction:
    return Introduction(node.uuid, node.name, node.boot, node.address, node.also, node.gossip, node.key)


def as_rumours(said: Iterable[Rumour]) -> tuple[member.Rumour, ...]:
    """Return the rumors for membership. Raises: RemoteError for an unknown state or an invalid node."""
    try:
        return tuple(member.Rumour(as_node(r.node), r.incarnation, NodeLife(r.state), r.by) for r in said)
    except ValueError as error:
        raise RemoteError(f"a rumor is invalid: {error}") from error


def to_wire(rumours: Iterable[member.Rumour]) -> tuple[Rumour, ...]:
    return tuple(Rumour(as_introduction(r.node), r.incarnation, str(r.state), r.by) for r in rumours)
