"""How is a peer told what is wanted of it? In parts, none of them long.

They leave one right behind the other: nothing that is wanted later, or no more, can come before the last.
"""

from collections import deque
from collections.abc import Iterator

from mesh.wire.commands import Interest, Query, encode
from mesh.wire.limits import INTEREST_PART

MORE = 2  # from this version of the wire on there are parts
EACH = 512  # queries in one, at most

Queries = tuple[Query, ...]


def parts(whole: Interest) -> Iterator[bytes]:
    """Its frames, for a peer that knows parts: in front how far we are, then what is wanted no more."""
    return _frames(whole, _cuts(whole, EACH), INTEREST_PART, is_old=False)


def slices(whole: Interest, count: int, more: bool) -> Iterator[Interest]:
    """The parts of what a peer has said, of so many queries. `more`: there is another part behind it."""
    if len(whole.add) + len(whole.remove) <= count and whole.more == more:
        yield whole  # as a rule
        return
    cuts, positions = _cuts(whole, count), whole.positions
    for left, (add, remove) in zip(reversed(range(len(cuts))), cuts, strict=True):
        yield Interest(whole.version, whole.full, add, remove, positions, more or left > 0)
        positions = ()


def in_one(whole: Interest, most: int) -> Iterator[bytes]:
    """One frame, for a peer of version 1. What is beyond `most` bytes follows as a change: it takes that for
    unwanted until then."""
    return _frames(whole, [(whole.add, whole.remove)], most, is_old=True)


def _cuts(whole: Interest, count: int) -> list[tuple[Queries, Queries]]:
    add, remove = whole.add, whole.remove
    cuts: list[tuple[Queries, Queries]] = []
    cuts += [((), remove[at : at + count]) for at in range(0, len(remove), count)]
    cuts += [(add[at : at + count], ()) for at in range(0, len(add), count)]
    return cuts or [((), ())]


def _frames(whole: Interest, cuts: list[tuple[Queries, Queries]], most: int, is_old: bool) -> Iterator[bytes]:
    left = deque(cuts)
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
