"""The party that sent messages for an address, and gets their answers and replies."""

from __future__ import annotations

from msgspec import Struct


class Requester(Struct, frozen=True):
    """A client of this node, a client of another site that this node serves as a gateway, or a peer.

    `peer` is the uuid of the peer that gets the answers. `None`: this node knows the client.
    """

    is_local: bool
    peer: bytes | None = None


CLIENT = Requester(is_local=True)
GATEWAY = Requester(is_local=False)


def from_peer(uuid: bytes) -> Requester:
    return Requester(is_local=False, peer=uuid)
