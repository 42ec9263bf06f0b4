"""Interest messages to a peer, split into parts of limited size.

The parts are sent directly after each other, so no later change can come between them.
"""

from collections import deque
from collections.abc import Iterator

from mesh.flow.parts import changes, cut
from mesh.wire.commands import Interest, Query, encode
from mesh.wire.limits import INTEREST_PART

# Wire version from which parts are supported.
MORE = 2
EACH = 512  # maximum of queries in a part

Queries = tuple[Query, ...]


def parts(whole: Interest) -> Iterator[bytes]:
    """Yield the frames for a peer that supports parts.

    The first frame has the positions. Withdrawn queries come before added ones.
    """
    cuts = [(add, remove) for add, remove, _ in changes(cut(whole.remove, EACH), cut(whole.add, EACH))]
    return _frames(whole, cuts, INTEREST_PART, is_old=False)


def slices(whole: Interest, count: int, more: bool) -> Iterator[Interest]:
    """Yield the parts with at most `count` queries each.

    With `more`, another part follows the last one.
    """
    if len(whole.add) + len(whole.remove) <= count and whole.more == more:
        yield whole  # the usual case
        return
    positions = whole.positions
    for add, remove, has_more in changes(cut(whole.remove, count), cut(whole.add, count)):
        yield Interest(whole.version, whole.full, add, remove, positions, more or has_more)
        positions = ()


def in_one(whole: Interest, most: int) -> Iterator[bytes]:
    """Yield the frames for a peer of wire version 1, with at most `most` bytes unless one query has more.

    The peer considers the queries of a later frame withdrawn until that frame arrives.
    """
    return _frames(whole, [(whole.add, whole.remove)], most, is_old=True)


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
    """Return the queries in two non-empty halves, with the withdrawn ones in front."""
    if add and remove:
        return [((), remove), (add, ())]
    at = (len(add) + len(remove)) // 2
    return [(add[:at], remove[:at]), (add[at:], remove[at:])]
