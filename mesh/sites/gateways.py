"""Who of us is the gateway to a site? One for each stream, so that its order holds."""

# Law 1: nodes that know of the same gateways choose the same one, without asking each other.
# Law 2: when a gateway comes or goes, only streams move that go to it, or that went there.
# Law 3: a stream of which something is unanswered stays where it is for as long as that is there: what came
# later would overtake it by another way.

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b
from heapq import nsmallest


def gateway(
    stream: bytes, site: str, announced: Collection[bytes], relays: int, *, held: bytes | None = None
) -> bytes | None:
    """The uuid of the gateway that takes this stream to that site; None: there is none.

    `announced`: who says that he is linked with the site, and can be reached. `relays`: how many of them,
    the first ones by uuid, are to share the work. `held`: by whom something of the stream is under way.
    """
    if held is not None and held in announced:
        return held
    text = site.encode()
    return max(
        nsmallest(max(1, relays), announced),
        key=lambda node: blake2b(stream + node + text, digest_size=16).digest(),
        default=None,
    )
