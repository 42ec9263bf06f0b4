"""Relayed gaps: reports to peers about messages that this node did not receive, without loops.

In the gaps of an item to a peer, (0, n) counts messages that the sender dropped itself. (k, n) with k > 0 is
a gap that was reported to the sender; the next k pairs are marks of the nodes that relayed it. The rules of
several domains may together form a loop even if no domain does: without marks a gap would circulate forever.

A gap that a gateway of another site reported begins with the mark of that site. Only subscriptions that can
match messages from or through that site receive the gap. If n is 0, a node on the route was unreachable:
messages may be missing, and caches are discarded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from zlib import crc32

MOST = 2**32 - 1  # messages in one gap
PATHS = 64  # separate gaps of one peer; further ones join the last

PassedNodes = tuple[int, ...]  # marks of nodes
Gaps = Iterable[tuple[int, int]]


def mark(uuid: bytes) -> int:
    return crc32(uuid)


def mark_of_site(site: str) -> int:
    """Return the mark of another site whose gateway reported a gap."""
    return crc32(f"/site/{site}".encode())


def pass_on(waiting: dict[PassedNodes, int], path: PassedNodes, messages: int) -> None:
    """Add a gap of `messages` along `path`, to be reported with the next item."""
    if path not in waiting and len(waiting) >= PATHS:
        path = next(reversed(waiting))
    waiting[path] = min(MOST, waiting.get(path, 0) + messages)


def written(waiting: dict[PassedNodes, int]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of the gaps, as an item contains them."""
    for path, messages in waiting.items():
        yield len(path), messages
        yield from ((node, 0) for node in path)


def read(gaps: Gaps) -> Iterator[tuple[PassedNodes, int]]:
    """Yield the path and the number of messages of each gap."""
    pairs = iter(gaps)
    for length, messages in pairs:
        yield tuple(node for node, _ in islice(pairs, length)), messages
