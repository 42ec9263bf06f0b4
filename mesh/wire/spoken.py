"""The wire version and the features that both ends of a connection have.

A feature stands for everything that was introduced with it: commands, a kind of query, destinations and
flags. Nodes and clients send none of them to an end without the feature.
"""

from collections.abc import Iterable

from mesh.wire.limits import PIECES, VERSION_MAX, VERSION_MIN, WAYS, XPATH

UNKNOWN_IS_TOLD = 2  # first version that keeps connections open after unknown commands
OF_VERSION_1 = frozenset((PIECES, WAYS))
A_SECOND = 10  # notices a second of unknown commands
KINDS = frozenset(("exact", "pattern", "inbox"))  # kinds of queries, in every version
UNDERSTOOD = KINDS | {XPATH}  # in this release


def agreed(oldest: int, newest: int, ours: int = VERSION_MAX) -> int:
    """Return the newest version that both ends know, or 0 without one; `ours` is the newest of this end."""
    version = min(newest, ours)
    return version if max(oldest, VERSION_MIN) <= version else 0


def in_common(version: int, theirs: Iterable[str], ours: Iterable[str]) -> frozenset[str]:
    """Return the features of both ends; in wire version 1 only PIECES and WAYS count."""
    both = frozenset(ours).intersection(theirs)
    return both if version >= UNKNOWN_IS_TOLD else both & OF_VERSION_1


def is_spoken(kind: str, words: frozenset[str]) -> bool:
    return kind in KINDS or kind in words
