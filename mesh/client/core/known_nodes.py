"""The nodes that a client knows, by the addresses that it may dial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from mesh.dialable import is_dialable
from mesh.errors import BadName
from mesh.names import node_name
from mesh.wire.commands import Introduction

TOLD = 8  # nodes of one WELCOME, and addresses of one node
KEY = 32  # bytes


class KnownNode(Struct, frozen=True, gc=False):
    """A node that a client may dial. `seen` is the last time that it accepted a client, in ns since 1970.

    `key` is its public Ed25519 key, or b"" in a mesh without keys.
    """

    name: str
    addresses: tuple[str, ...]
    key: bytes = b""
    seen: int = 0


def introduced(nodes: Iterable[Introduction]) -> list[KnownNode]:
    """Return the usable nodes of a WELCOME, in its order, at most `TOLD`."""
    found = (checked(each.name, (each.address, *each.also), each.key) for each in list(nodes)[:TOLD])
    return [node for node in found if node is not None]


def checked(name: str, addresses: Sequence[str], key: bytes, seen: int = 0) -> KnownNode | None:
    """Return a node without its unusable addresses; `None` if it has no other, or is invalid.

    Only TCP addresses are usable: a client trusts a local socket without a proof.
    """
    try:
        node_name(name)
    except BadName:
        return None
    dialable = tuple(address for address in addresses[: TOLD + 1] if is_dialable(address))
    return KnownNode(name, dialable, key, seen) if dialable and len(key) in (0, KEY) else None
