"""Provisional messages: delivered before their master accepts them, and not again afterwards."""

from __future__ import annotations

from collections.abc import Callable

from mesh.flow.bounded import Bounded
from mesh.streams.ranges import Ranges
from mesh.streams.seen import SeenMessages
from mesh.wire.envelope import RETRACTED, Envelope

STREAMS = 10_000  # remembered streams
RANGES = 256  # remembered ranges of a stream

Indices = tuple[int, ...] | None  # of an envelope's messages; None: all of them


class Unconfirmed:
    """The numbers of delivered provisional messages of one subscription, until their master answers.

    At most STREAMS streams and RANGES ranges of each are remembered.
    """

    def __init__(self) -> None:
        self._streams = Bounded[tuple[bytes, str], Ranges](STREAMS)

    def select_new(self, e: Envelope, indices: Indices, seen: SeenMessages) -> Indices:
        """Return the indices of messages to deliver: new provisional ones, retractions of delivered ones."""
        stream = e.stream, e.domain
        if e.flags & RETRACTED:
            known = self._streams.get(stream, Ranges())
            return _kept(e, indices, lambda number: bool(known.remove(number, number)))
        ranges = self._streams.get(stream) or Ranges()
        self._streams.keep(stream, ranges)
        top = seen.top(stream)  # older messages come from the master
        news = _kept(e, indices, lambda number: number > top and number not in ranges)
        for number in e.number_list(range(e.count) if news is None else news):
            ranges.add(number, number)
        while len(ranges) > RANGES:
            ranges.drop_lowest()
        return news

    def without(self, e: Envelope, indices: Indices) -> Indices:
        """Return the indices of accepted messages not delivered provisionally; forget the others."""
        known = self._streams.get((e.stream, e.domain))
        if known is None:
            return indices
        left = _kept(e, indices, lambda number: not known.remove(number, number))
        if not known:
            del self._streams[e.stream, e.domain]
        return left


def _kept(e: Envelope, indices: Indices, keep: Callable[[int], bool]) -> Indices:
    every = range(e.count) if indices is None else indices
    kept = tuple([i for i, number in zip(every, e.number_list(every), strict=True) if keep(number)])
    return indices if len(kept) == len(every) else kept
