"""Several subscriptions read as one: in order of arrival, without duplicates."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from mesh.client.batch import Batch
from mesh.client.core.intake import Intake
from mesh.client.message import Message
from mesh.errors import Closed, MeshError
from mesh.flow.bounded import Bounded
from mesh.streams.ranges import Ranges
from mesh.wire.envelope import RETRACTED, Envelope

STREAMS = 10_000  # remembered streams
RANGES = 256  # remembered ranges of a stream

StreamName = tuple[bytes, str]


class GivenBefore:
    """The messages delivered so far, within bounds. Forgotten messages may be delivered twice."""

    def __init__(self) -> None:
        self._streams = Bounded[StreamName, Ranges](STREAMS)

    def news(self, batch: Batch) -> Batch | None:
        """Return the new messages of a batch, and record them; None if all are repeats."""
        e = batch._envelope
        if e.flags & RETRACTED:  # refers to a delivered message
            return batch
        indices = range(e.count) if batch._indices is None else batch._indices
        ranges = self._ranges_of((e.stream, e.domain))
        numbers = e.number_list(indices)
        fresh = [i for i, n in zip(indices, numbers, strict=True) if n not in ranges]
        for number in numbers:
            ranges.add(number, number)
        while len(ranges) > RANGES:
            ranges.drop_lowest()
        if len(fresh) == len(numbers):
            return batch
        return Batch(e, fresh, batch.gap) if fresh else None

    def _ranges_of(self, stream: StreamName) -> Ranges:
        ranges = self._streams.get(stream) or Ranges()
        self._streams.keep(stream, ranges)
        return ranges


class Strand(Intake):
    """A subscription among several, which reports the order of its items and its end."""

    whole: Several

    def next(self) -> Batch | None:
        """Remove and return the first item, which the caller marks as consumed.

        Return None for an item with only repeated or late messages, which is marked as consumed here.
        """
        batch = self._items.popleft()
        self._given = batch
        if batch is None:
            self.mark_consumed()
        return batch

    def given(self, news: Batch) -> Strand:
        self._given = news
        return self

    def first(self) -> Batch | None:
        return self._items[0]

    def _batch_of(self, envelope: Envelope, indices: tuple[int, ...] | None) -> Batch | None:
        self.whole.order.append(self)
        return super()._batch_of(envelope, indices)

    def restarted(self) -> None:
        if not self.confirmed:  # unconfirmed items are invalid
            self.whole.drop_items(self)
        super().restarted()

    def end_with(self, error: MeshError) -> None:
        super().end_with(error)
        self.whole.on_strand_ended(self, error)


class Several:
    """Several intakes as one: in order of arrival, without duplicates, once all are confirmed.

    `overlap` tells whether one message may arrive for two of them. If one fails, all end, and `give_up`
    unsubscribes the others at the node. The interface for readers is that of `Intake`.
    """

    is_left = False

    def __init__(self, strands: Sequence[Strand], overlap: bool, give_up: Callable[[Intake], None]) -> None:
        self.strands: tuple[Strand, ...] = tuple(strands)
        self.number: int = strands[0].number
        self.stirred: Callable[[], None] = lambda: None
        self.order: deque[Strand] = deque()  # one entry per item, in order of arrival
        self._given = GivenBefore() if overlap else None
        self._give_up = give_up
        self._is_confirmed = False
        self._of: Strand | None = None  # the strand whose batch is in use
        self._back: Batch | None = None  # batch that was put back
        self._gap = 0  # gaps of batches without new messages
        for strand in strands:
            strand.whole, strand.stirred = self, self._stir

    def _stir(self) -> None:
        self.stirred()

    @property
    def dropped(self) -> int:
        """The number of dropped messages; a message for two subscriptions counts twice."""
        return sum(strand.dropped for strand in self.strands)

    @property
    def unknown_gaps(self) -> int:
        return max(strand.unknown_gaps for strand in self.strands)

    @property
    def error(self) -> MeshError | None:
        return next((strand.error for strand in self.strands if strand.error is not None), None)

    @property
    def is_in_use(self) -> bool:
        return self._of is not None

    # --- reading ----------------------------------------------------------------------------------------

    def next_batch(self) -> Batch | None:
        self._is_confirmed = self._is_confirmed or all(strand.confirmed for strand in self.strands)
        while self._is_confirmed and self.order:
            strand = self.order.popleft()
            batch = strand.next()
            if batch is not None and (news := self._news(batch)) is not None:
                self._of = strand.given(news)
                return news
            if batch is not None:
                strand.mark_consumed()
        return None

    def _news(self, batch: Batch) -> Batch | None:
        if self._given is None or batch is self._back:
            self._back = None
            return batch
        news = self._given.news(batch)
        if news is None:
            self._gap += batch.gap
        elif self._gap:
            news = Batch(news._envelope, news._indices, news.gap + self._gap)
            self._gap = 0
        return news

    def mark_consumed(self) -> None:
        strand, self._of = self._of, None
        if strand is not None:
            strand.mark_consumed()

    def hold_batch(self) -> Callable[[], None]:
        strand, self._of = self._of, None
        return strand.hold_batch() if strand is not None else self._stir

    def put_back(self, rest: Sequence[Message[Any]], failed: bool) -> None:
        strand, self._of = self._of, None
        if strand is not None:
            strand.put_back(rest, failed)
        if strand is not None and (rest or failed):
            self.order.appendleft(strand)
            self._back = strand.first()

    # --- for its subscriptions --------------------------------------------------------------------------

    def drop_items(self, strand: Strand) -> None:
        """Forget the items of a subscription, which are invalid after a restart of the node."""
        self.order = deque(other for other in self.order if other is not strand)

    def on_strand_ended(self, strand: Strand, error: MeshError) -> None:
        """End all subscriptions if one has failed. A deliberate close ends each by itself."""
        if isinstance(error, Closed):
            return
        for other in self.strands:
            if other.error is None:
                self._give_up(other)
                other.end_with(error)
