"""Several queries that are read as one: what came first, and was it there already?"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Any

from mesh.client.core.intake import Intake
from mesh.client.message import Batch, Message
from mesh.errors import Closed, MeshError
from mesh.streams.ranges import Ranges
from mesh.wire.envelope import RETRACTED, Envelope

STREAMS = 10_000  # of which it is remembered what was given
RANGES = 256  # that are remembered of each

StreamName = tuple[bytes, str]


class GivenBefore:
    """The messages that were given. What it forgets may be given again; what was never given, always is."""

    def __init__(self) -> None:
        self._streams: OrderedDict[StreamName, Ranges] = OrderedDict()

    def news(self, batch: Batch) -> Batch | None:
        """The messages in it that were not given, which from now on are; None: there is none."""
        e = batch._envelope
        if e.flags & RETRACTED:  # of what was given before
            return batch
        indices = range(e.count) if batch._indices is None else batch._indices
        ranges = self._of((e.stream, e.domain))
        numbers = e.number_list(indices)
        fresh = [i for i, n in zip(indices, numbers, strict=True) if n not in ranges]
        for number in numbers:
            ranges.add(number, number)
        while len(ranges) > RANGES:
            ranges.drop_lowest()
        if len(fresh) == len(numbers):
            return batch
        return Batch(e, fresh, batch.gap) if fresh else None

    def _of(self, stream: StreamName) -> Ranges:
        ranges = self._streams.pop(stream, None) or Ranges()
        self._streams[stream] = ranges
        if len(self._streams) > STREAMS:
            self._streams.popitem(last=False)
        return ranges


class Strand(Intake):
    """One of several, which tells them in what order its items come, and when it ends."""

    whole: Several

    def next(self) -> Batch | None:
        """The first of its items, to be counted when it is used up; None: repeats, which only count."""
        batch = self._items.popleft()
        self._given = batch
        if batch is None:
            self.count()
        return batch

    def given(self, news: Batch) -> Strand:
        """Only these messages of the last batch are in use."""
        self._given = news
        return self

    def first(self) -> Batch | None:
        """The item that it has before everything else."""
        return self._items[0]

    def _batch_of(self, envelope: Envelope, indices: tuple[int, ...] | None) -> Batch | None:
        self.whole.order.append(self)
        return super()._batch_of(envelope, indices)

    def restarted(self) -> None:
        if not self.confirmed:  # then its items are void
            self.whole.forget(self)
        super().restarted()

    def end(self, error: MeshError) -> None:
        super().end(error)
        self.whole.ended(self, error)


class Several:
    """Several intakes as one: in order of arrival, no message twice, given when all are confirmed.

    `overlap`: may one message come for two of them? The end of one is the end of all: `give_up` tells the
    node of those that it still has. To its reader it is what an `Intake` is.
    """

    is_left = False

    def __init__(self, strands: Sequence[Strand], overlap: bool, give_up: Callable[[Intake], None]) -> None:
        self.strands: tuple[Strand, ...] = tuple(strands)
        self.number: int = strands[0].number
        self.stirred: Callable[[], None] = lambda: None
        self.order: deque[Strand] = deque()  # whose items came, one after the other
        self._given = GivenBefore() if overlap else None
        self._give_up = give_up
        self._is_confirmed = False
        self._of: Strand | None = None  # the strand whose batch is in use
        self._back: Batch | None = None  # what was put back: it is given again
        self._gap = 0  # of batches that held nothing new
        for strand in strands:
            strand.whole, strand.stirred = self, self._stir

    def _stir(self) -> None:
        self.stirred()

    @property
    def dropped(self) -> int:
        """Of all of them: what two would have had counts twice."""
        return sum(strand.dropped for strand in self.strands)

    @property
    def error(self) -> MeshError | None:
        """Why nothing more will come."""
        return next((strand.error for strand in self.strands if strand.error is not None), None)

    @property
    def is_in_use(self) -> bool:
        return self._of is not None

    # --- taking -----------------------------------------------------------------------------------------

    def take(self) -> Batch | None:
        """The next one, to be counted when it is used up; None: there is none now."""
        self._is_confirmed = self._is_confirmed or all(strand.confirmed for strand in self.strands)
        while self._is_confirmed and self.order:
            strand = self.order.popleft()
            batch = strand.next()
            if batch is not None and (news := self._news(batch)) is not None:
                self._of = strand.given(news)
                return news
            if batch is not None:
                strand.count()
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

    def count(self) -> None:
        """A batch is used up: the node may send another."""
        strand, self._of = self._of, None
        if strand is not None:
            strand.count()

    def hold(self) -> Callable[[], None]:
        """The batch in use stays so while others are taken; to be called when it is used up."""
        strand, self._of = self._of, None
        return strand.hold() if strand is not None else self._stir

    def put_back(self, rest: Sequence[Message[Any]], failed: bool) -> None:
        """Put back the rest of the last batch, or all of it if its user `failed`: it comes again first."""
        strand, self._of = self._of, None
        if strand is not None:
            strand.put_back(rest, failed)
        if strand is not None and (rest or failed):
            self.order.appendleft(strand)
            self._back = strand.first()

    # --- for its strands --------------------------------------------------------------------------------

    def forget(self, strand: Strand) -> None:
        """Forget what came of this one: it is void."""
        self.order = deque(other for other in self.order if other is not strand)

    def ended(self, strand: Strand, error: MeshError) -> None:
        """One has failed: so have all. What is closed on purpose closes each by itself."""
        if isinstance(error, Closed):
            return
        for other in self.strands:
            if other.error is None:
                self._give_up(other)
                other.end(error)
