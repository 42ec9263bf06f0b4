"""Sinks that are owed the log entries of a node at its start, computed for millions of envelopes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mesh.routing.sink import Sink, Targets
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import LOCAL_ONLY, SILENT, Envelope

KNOWN = 10_000  # keys whose sinks are remembered


class Owed:
    """The sinks of one key, each with the first log position from which it is owed messages."""

    __slots__ = ("_all", "_firsts", "_last")

    def __init__(self, firsts: list[tuple[Sink, float]]) -> None:
        self._firsts = firsts
        self._all: Targets = [(taker, None) for taker, _ in firsts]
        self._last = max((first for _, first in firsts), default=0.0)

    def at(self, place: int) -> Targets:
        if place >= self._last:  # the usual case
            return self._all
        return [(taker, None) for taker, first in self._firsts if first <= place]


class RestoredDebts:
    """The queries and positions of sinks at the start of the node.

    `wanting(key, domain, xml, is_local)` returns the sinks of published messages, `addressed` the sink of a
    direct message.
    """

    def __init__(
        self, wanting: Callable[[str, str, str, bool], Iterable[Sink]], addressed: Callable[[str], Sink]
    ) -> None:
        self._wanting, self._addressed = wanting, addressed
        self._known: dict[tuple[str, str, str, int, str], Owed] = {}

    def sinks_of(self, stored: StoredEnvelope) -> Targets:
        """Return the sinks that are owed the stored envelope, each with its messages."""
        e, place = stored.envelope, stored.position
        if len(e.keys) == 1:  # the usual case
            owed = self._owed(e.keys[0], e).at(place)
            return [target for target in owed if target[0].owner] if e.flags & SILENT else owed
        rows_of: dict[Sink, set[int]] = {}
        for row, key in enumerate(e.keys):
            for taker, _ in self._owed(key, e).at(place):
                rows_of.setdefault(taker, set()).add(row)
        return [(taker, _indices(e, rows)) for taker, rows in rows_of.items()]

    def clear_cache(self) -> None:
        """Clear the cache, because sinks start to receive and may change their queries."""
        self._known.clear()

    def _owed(self, key: str, e: Envelope) -> Owed:
        kind = key, e.domain, e.to, e.flags & LOCAL_ONLY, e.xml
        owed = self._known.get(kind)
        if owed is None:
            takers = [self._addressed(e.to)] if e.to else self._wanting(key, e.domain, e.xml, bool(kind[3]))
            owed = Owed([(taker, taker.first_owed_position(key, e.domain, e.xml)) for taker in takers])
            if len(self._known) >= KNOWN:
                self._known.clear()
            self._known[kind] = owed
        return owed


def _indices(envelope: Envelope, rows: set[int]) -> tuple[int, ...] | None:
    """Return the indices of the messages in these rows; None = all."""
    if len(rows) == len(envelope.keys):
        return None
    return tuple([i for i, row in enumerate(envelope.rows()) if row in rows])
