"""How is a peer told what is wanted of it? In parts: each takes it some milliseconds to take up.

They leave one right behind the other: nothing that is wanted later, or no more, can come before the last.
"""

from collections import deque
from collections.abc import Iterator

from mesh.wire.commands import Interest, Query, encode
from mesh.wire.limits import INTEREST_PART

MORE = 2  # from this version of the wire on there are parts
EACH = 512  # queries in one, at most: as many as whoever hears them takes up at once

Queries = tuple[Query, ...]


def parts(whole: Interest) -> Iterator[bytes]:
    """Its frames, for a peer that knows parts: in front how far we are, then what is wanted no more."""
    slices: list[tuple[Queries, Queries]] = [((), some) for some in _by(EACH, whole.remove)]
    slices += [(some, ()) for some in _by(EACH, whole.add)]
    return _frames(whole, slices, INTEREST_PART, is_old=False)


def in_one(whole: Interest, most: int) -> Iterator[bytes]:
    """One frame, for a peer of version 1. What is beyond `most` bytes follows as a change: it takes that for
    unwanted until then."""
    return _frames(whole, [(whole.add, whole.remove)], most, is_old=True)


def _by(count: int, queries: Queries) -> Iterator[Queries]:
    return (queries[at : at + count] for at in range(0, len(queries), count))


def _frames(
    whole: Interest, slices: list[tuple[Queries, Queries]], most: int, is_old: bool
) -> Iterator[bytes]:
    left = deque(slices or [((), ())])
    is_first = True
    while left:
        add, remove = left.popleft()
        full, more = whole.full and (is_first or not is_old), bool(left) and not is_old
        positions = whole.positions if is_first else ()
        frame = encode(Interest(whole.version, full, add, remove, positions, more))
        if len(frame) > most and len(add) + len(remove) > 1:
            left.extendleft(reversed(_halves(add, remove)))
            continue
        is_first = False
        yield frame


def _halves(add: Queries, remove: Queries) -> list[tuple[Queries, Queries]]:
    """The same in two, each with something; what is wanted no more stays in front."""
    if add and remove:
        return [((), remove), (add, ())]
    at = (len(add) + len(remove)) // 2
    return [(add[:at], remove[:at]), (add[at:], remove[at:])]
