"""Tracks the deadlines of envelopes to addresses, and which envelopes an earlier node may have."""

from __future__ import annotations

from collections import OrderedDict
from math import inf

from msgspec.structs import replace

from mesh.wire.envelope import RESENT, Envelope
from mesh.wire.ttls import ttl_of


class Deadlines:
    """The deadlines of envelopes to addresses, by first sequence number.

    Envelopes without a deadline are absent; settled ones are dropped by the next `add`.
    """

    def __init__(self) -> None:
        self._ends: OrderedDict[int, float] = OrderedDict()
        self._left = 0  # highest number ever sent
        self._elsewhere = 0  # highest number sent to an earlier node

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, first: int, until: float, low: int) -> None:
        """Set the deadline of the envelope that begins with `first`; drop the deadlines below `low`."""
        ends = self._ends
        while ends and next(iter(ends)) < low:
            ends.popitem(last=False)
        ends[first] = until

    def ttl(self, envelope: Envelope, now: float) -> int:
        """Return the ms until the deadline, at least 1; 0: no deadline."""
        return ttl_of(self._ends.get(envelope.first, inf), now)

    def record_sent(self, envelope: Envelope) -> None:
        self._left = max(self._left, envelope.last)

    def on_moved(self) -> None:
        """Record that an earlier node or process may have each envelope sent so far."""
        self._elsewhere = self._left

    def marked(self, envelope: Envelope) -> Envelope:
        if envelope.first > self._elsewhere:
            return envelope
        return replace(envelope, flags=envelope.flags | RESENT)
