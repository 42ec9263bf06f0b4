"""Messages of a queue that came together: under which counts, and what was said of each?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from mesh.client.core.desk import Promise
from mesh.client.message import Batch, Message
from mesh.errors import MeshError
from mesh.wire.envelope import Envelope
from mesh.wire.limits import QUEUE_CREDIT

# What is known of a message: it is this client's; something was said of it, which may not have an answer yet;
# it is not this client's any more.
HERE, SAID, GONE = 0, 1, 2
ACK = 0  # what becomes of a message: it is done. The others are those of the wire.


class TakenLot:
    """An envelope, or some of its messages, which are named by their places: 0, 1, ...

    `counts` are those of the opening of that number: to another opening they mean nothing.
    """

    __slots__ = ("_messages", "batch", "begun", "counts", "opening", "since", "states", "tries", "until")

    def __init__(
        self, envelope: Envelope, indices: Sequence[int] | None, tries: bytes, opening: int, first: int
    ) -> None:
        self.batch: Batch = Batch(envelope, indices)
        n = len(self.batch)
        self.tries: bytes = tries
        self.opening: int = opening
        self.counts: Sequence[int] = range(first, first + n)
        self.states: bytearray = bytearray(n)
        self.begun: int = 0  # places that its user was given
        self.since: float = 0.0  # when its lease began, as far as is known here,
        self.until: float = 0.0  # and when it ends at the latest, if somebody asks for no more
        self._messages: Iterator[Message] = iter(self.batch)

    def __len__(self) -> int:
        return len(self.states)

    def next(self) -> Message:
        """The next one that is begun."""
        self.begun += 1
        return next(self._messages)

    @property
    def stream(self) -> bytes:
        return self.batch._envelope.stream

    def numbers(self) -> list[int]:
        """The number in its stream of each."""
        e, indices = self.batch._envelope, self.batch._indices
        return e.number_list(range(e.count) if indices is None else indices)

    def count(self, place: int, opening: int) -> int:
        """The count of a message in that opening; 0: it has none."""
        return self.counts[place] if self.opening == opening else 0

    def are(self, state: int, first: int, last: int) -> list[int]:
        """The places from first up to last, without it, that are in that state."""
        return [place for place in range(first, last) if self.states[place] == state]


LotPlace = tuple[TakenLot, int]
Some = tuple[TakenLot, Sequence[int]]  # places of a lot


SettleEntry = tuple[int, int, int, int, str]  # of SETTLE


class Settlement(Struct, eq=False):
    """What was said of some messages. The promise is kept when the node has written it down."""

    what: int
    of: Sequence[Some]
    delay: int = 0  # ms
    reason: str = ""
    promise: Promise | None = None
    left: int = 0  # times that it has left for the node

    def __len__(self) -> int:
        return sum(len(places) for _, places in self.of)

    def __iter__(self) -> Iterator[LotPlace]:
        return ((lot, place) for lot, places in self.of for place in places)

    def counts(self) -> list[int]:
        """The counts of all of them."""
        return [lot.counts[place] for lot, place in self]

    def entries(self) -> list[SettleEntry]:
        """The same as SETTLE says it."""
        ends = as_ranges(self.counts())
        pairs = zip(ends[::2], ends[1::2], strict=True)
        return [(first, last, self.what, self.delay, self.reason) for first, last in pairs]

    @property
    def size(self) -> int:
        """The bytes that it takes there, at most."""
        return 10 * len(self) + 4 * len(self.reason)

    def among(self, ranges: Sequence[tuple[int, int]]) -> list[LotPlace]:
        """Those of it whose counts are among these."""
        return [(lot, place) for lot, place in self if any(a <= lot.counts[place] <= b for a, b in ranges)]

    def keep(self, opening: int) -> list[LotPlace]:
        """Only of what has a count in that opening it can be said; returns the others."""
        others = [(lot, place) for lot, place in self if not lot.count(place, opening)]
        if others:
            self.of = [(lot, (place,)) for lot, place in self if lot.count(place, opening)]
        return others

    def kept(self) -> None:
        """It is written down."""
        if self.promise is not None and not self.promise.done():
            self.promise.set_result(None)

    def broken(self, error: MeshError) -> None:
        """It came to nothing."""
        if self.promise is not None and not self.promise.done():
            self.promise.set_exception(error)


def as_ranges(counts: Iterable[int]) -> tuple[int, ...]:
    """first, last, first, last, ... of some counts in any order."""
    ranges: list[int] = []
    for count in sorted(counts):
        if ranges and ranges[-1] == count - 1:
            ranges[-1] = count
        else:
            ranges += (count, count)
    return tuple(ranges)


def listed(places: Sequence[LotPlace]) -> tuple[tuple[bytes, tuple[int, ...]], ...]:
    """Messages as `held` of CONSUME lists them, in this order."""
    entries: list[tuple[bytes, list[int]]] = []
    before: TakenLot | None = None
    numbers: list[int] = []
    for lot, place in places:
        if lot is not before:
            before, numbers = lot, lot.numbers()
        number, entry = numbers[place], entries[-1] if entries else None
        if entry is None or entry[0] != lot.stream or entry[1][-1] >= number:
            entries.append((lot.stream, [number, number]))
        elif entry[1][-1] == number - 1:
            entry[1][-1] = number
        else:
            entry[1].extend((number, number))
    return tuple((stream, tuple(ends)) for stream, ends in entries)


def fitting(mine: list[LotPlace], said: list[LotPlace], waiting: list[LotPlace]) -> list[LotPlace]:
    """As many as can be listed. Of what was said most is done by then, so that gives way first."""
    room = QUEUE_CREDIT - len(mine) - len(waiting)
    return [*mine, *said[: max(0, room)], *waiting][:QUEUE_CREDIT]
