"""What a node was not given is missed by those behind it, too: how is it told on, and where does that end?

In the gaps of an item to a peer (0, n) is what the sender has dropped itself. (k, n) with k > 0 is what it
was told of; the k pairs behind it are marks of the nodes by which that came. Rules of several domains may
lead in a circle though those of each do not: without the marks a gap would go round for ever, and grow.
A gap that a gateway has reported begins with the mark of the site from which it came: only subscriptions that
what comes from there can match are sent it.
Where n is 0 a node on the way was away: nobody knows whether anything is missed, and caches forget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from zlib import crc32

MOST = 2**32 - 1  # messages that are told at once
PATHS = (
    64  # by which gaps are kept apart for one peer; what comes by more is told as if it had come by the last
)

PassedNodes = tuple[int, ...]  # marks of nodes
Gaps = Iterable[tuple[int, int]]


def mark(uuid: bytes) -> int:
    """Of a node."""
    return crc32(uuid)


def mark_of_site(site: str) -> int:
    """Of another site, by which a gap came to a gateway."""
    return crc32(f"/site/{site}".encode())


def pass_on(waiting: dict[PassedNodes, int], path: PassedNodes, messages: int) -> None:
    """Have a gap told with the next item."""
    if path not in waiting and len(waiting) >= PATHS:
        path = next(reversed(waiting))
    waiting[path] = min(MOST, waiting.get(path, 0) + messages)


def written(waiting: dict[PassedNodes, int]) -> Iterator[tuple[int, int]]:
    """As it stands in an item."""
    for path, messages in waiting.items():
        yield len(path), messages
        yield from ((node, 0) for node in path)


def read(gaps: Gaps) -> Iterator[tuple[PassedNodes, int]]:
    """The path and the number of messages of each."""
    pairs = iter(gaps)
    for length, messages in pairs:
        yield tuple(node for node, _ in islice(pairs, length)), messages
