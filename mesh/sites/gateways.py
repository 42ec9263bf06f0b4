"""Who of us is the gateway to a site? One for each stream, so that its order holds."""

# Law 1: nodes that know of the same gateways choose the same one, without asking each other.
# Law 2: when a gateway comes or goes, only streams move that go to it, or that went there.

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b
from heapq import nsmallest


def gateway(stream: bytes, site: str, announced: Collection[bytes], relays: int) -> bytes | None:
    """Return the uuid of the gateway that takes `stream` to `site`, or `None` without one.

    `announced` has the reachable nodes that report a link to the site. The first `relays` of them, by uuid,
    share the work.
    """
    text = site.encode()
    return max(
        nsmallest(max(1, relays), announced),
        key=lambda node: blake2b(stream + node + text, digest_size=16).digest(),
        default=None,
    )
