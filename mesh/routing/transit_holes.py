"""Messages that expired in transit, and whether later ones of their publishers may pass this node."""

# Law 1: after a message has expired in transit, later ones of its publisher and domain go back to the node
#        that forwarded them. It may send the expired one by another route, which must not be overtaken.
# Law 2: the node sends them again only if it has received the refusal, and this node is still its next hop.
#        So a message that returns passes. Other messages go back once, until the last that went back returns
#        or is answered: the node may have sent them before those that went back reached it.

from __future__ import annotations

from dataclasses import dataclass, field

from mesh.flow.bounded import Bounded
from mesh.streams.ranges import Ranges

STREAMS = 10_000  # streams with a hole that are remembered
RETURNED = 1024  # ranges of returned numbers of one stream, at most

StreamKey = tuple[bytes, str]  # stream, domain


@dataclass(slots=True)
class Hole:
    """The last number of a stream that expired here, and later ones that went back."""

    last: int
    returned: Ranges = field(default_factory=Ranges)


class TransitHoles:
    """The holes of streams whose messages expired here in transit."""

    def __init__(self) -> None:
        self._holes = Bounded[StreamKey, Hole](STREAMS)

    def __bool__(self) -> bool:
        return len(self._holes) > 0

    def open_hole(self, key: StreamKey, last: int) -> None:
        """Record that the number `last` of a stream has expired."""
        hole = self._holes.get(key)
        self._holes.keep(key, Hole(max(last, hole.last if hole is not None else 0)))

    def after(self, key: StreamKey) -> int | None:
        """Return the number after which messages of a stream go back, or None."""
        hole = self._holes.get(key)
        return hole.last if hole is not None else None

    def must_return(self, key: StreamKey, first: int, last: int, low: int) -> bool:
        """Return whether the messages `first` to `last` of a stream go back, and record that they do.

        Below `low`, the publisher has the answers to all its messages.
        """
        hole = self._holes.get(key)
        if hole is None or first <= hole.last:
            return False
        hole.returned.drop_below(low)
        is_again = first in hole.returned
        if is_again:
            hole.returned.drop_below(last + 1)
        is_over = (is_again or low > hole.last) and not hole.returned
        if is_over or len(hole.returned) >= RETURNED:
            del self._holes[key]
        elif not is_again:
            hole.returned.add(first, last)
            return True
        return False
