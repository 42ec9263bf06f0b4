"""How long does a send to an address still have, and was it sent to another node before?"""

from __future__ import annotations

from collections import OrderedDict
from math import inf

from msgspec.structs import replace

from mesh.wire.envelope import RESENT, Envelope
from mesh.wire.ttls import ttl_of


class Deadlines:
    """The ends of envelopes to addresses, by their first numbers; of what is settled none is kept."""

    def __init__(self) -> None:
        self._ends: OrderedDict[int, float] = OrderedDict()
        self._left = 0  # the highest number that ever left,
        self._elsewhere = 0  # and that has left for another node, or another process of this one

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, first: int, until: float, low: int) -> None:
        """That envelope is of use until then; what lies below `low` will not be sent any more."""
        ends = self._ends
        while ends and next(iter(ends)) < low:
            ends.popitem(last=False)
        ends[first] = until

    def ttl(self, envelope: Envelope, now: float) -> int:
        """The ms that it still has, one at least; 0: as long as it takes."""
        return ttl_of(self._ends.get(envelope.first, inf), now)

    def left(self, envelope: Envelope) -> None:
        """It has left, to whom we are connected now."""
        self._left = max(self._left, envelope.last)

    def moved(self) -> None:
        """Connected to another node, or process: what has left until now went elsewhere."""
        self._elsewhere = self._left

    def marked(self, envelope: Envelope) -> Envelope:
        """The envelope as it must be sent now."""
        if envelope.first > self._elsewhere:
            return envelope
        return replace(envelope, flags=envelope.flags | RESENT)
