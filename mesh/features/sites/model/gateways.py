"""Chooses the gateway for a stream to another site. Each stream has one gateway, which keeps its order."""

# Law 1: nodes that know the same gateways choose the same one without communication.
# Law 2: when a gateway appears or disappears, only the streams that it gains or loses change their gateway.

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b
from heapq import nsmallest


def gateway(stream: bytes, site: str, announced: Collection[bytes], relays: int) -> bytes | None:
    """Return the uuid of the gateway that forwards `stream` to `site`, or `None` if there is none.

    `announced` has the reachable nodes that report a link to the site. The first `relays` of them, by uuid,
    share the work.
    """
    text = site.encode()
    return max(
        nsmallest(max(1, relays), announced),
        key=lambda node: blake2b(stream + node + text, digest_size=16).digest(),
        default=None,
    )
