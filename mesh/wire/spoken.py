"""What two ends can say to each other: a version of the wire, and words for what goes beyond it.

A word stands for a room that came later: all of its commands, the kind of query and the first level of a
destination that are called like it, and its flags. Whoever has not said the word is never sent any of that.
"""

from collections.abc import Iterable

from mesh.wire.limits import PIECES, VERSION_MAX, VERSION_MIN, WAYS, XPATH

UNKNOWN_IS_TOLD = 2  # from this version on, what somebody does not know costs him no connection
OF_VERSION_1 = frozenset((PIECES, WAYS))
A_SECOND = 10  # times that the other end of a connection is told that something is not known
KINDS = frozenset(("exact", "pattern", "inbox"))  # of queries, in every version
UNDERSTOOD = KINDS | {XPATH}  # in this one


def agreed(oldest: int, newest: int, ours: int = VERSION_MAX) -> int:
    """The newest version that both know, of which `ours` is our newest; 0: there is none."""
    version = min(newest, ours)
    return version if max(oldest, VERSION_MIN) <= version else 0


def in_common(version: int, theirs: Iterable[str], ours: Iterable[str]) -> frozenset[str]:
    """The words that both have said. Of what the other says nothing else is kept."""
    both = frozenset(ours).intersection(theirs)
    return both if version >= UNKNOWN_IS_TOLD else both & OF_VERSION_1


def is_spoken(kind: str, words: frozenset[str]) -> bool:
    """Does the other end understand queries of this kind?"""
    return kind in KINDS or kind in words


class Seldom:
    """A limit: how often somebody is told something, so that what he says in vain costs little."""

    __slots__ = ("_since", "_told")

    def __init__(self) -> None:
        self._since = self._told = 0.0

    def allows(self, now: float) -> bool:
        """May he be told once more?"""
        if now - self._since >= 1:
            self._since, self._told = now, 0
        self._told += 1
        return self._told <= A_SECOND
