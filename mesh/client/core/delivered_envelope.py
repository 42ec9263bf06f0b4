"""Messages of a queue that arrived together, their delivery tags, and their settlements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from mesh.client.batch import Batch
from mesh.client.core.client_context import Promise
from mesh.client.message import Message
from mesh.errors import MeshError, RemoteError
from mesh.printable import count
from mesh.wire.envelope import Envelope
from mesh.wire.limits import QUEUE_CREDIT

# The states of a message: it belongs to this client; it is settled, perhaps without an answer yet; it no
# longer belongs to this client.
HERE, SAID, GONE = 0, 1, 2
ACK = 0  # the other settlements are constants of the wire


class DeliveredEnvelope:
    """An envelope, or some of its messages, from a queue. The messages have places 0, 1, ...

    `counts` are the delivery tags by place; they are valid only in the epoch numbered `opening`. `node` is
    the uuid of the node that delivered the messages.
    """

    __slots__ = (
        "_messages", "arrived", "batch", "begun", "counts", "node", "opening", "since", "states", "tries",
        "until",
    )  # fmt: skip

    def __init__(
        self,
        envelope: Envelope,
        indices: Sequence[int] | None,
        tries: bytes,
        opening: int,
        first: int,
        node: bytes = b"",
    ) -> None:
        self.node: bytes = node
        self.batch: Batch = Batch(envelope, indices)
        n = len(self.batch)
        self.tries: bytes = tries
        self.opening: int = opening
        self.counts: Sequence[int] = range(first, first + n)
        self.states: bytearray = bytearray(n)
        self.begun: int = 0  # number of places begun
        self.arrived: float = 0.0  # by the client's clock
        self.since: float = 0.0  # start of the lease, by the client's clock
        self.until: float = 0.0  # end of the lease unless it is extended
        self._messages: Iterator[Message] = iter(self.batch)

    def __len__(self) -> int:
        return len(self.states)

    def next(self) -> Message:
        self.begun += 1
        return next(self._messages)

    @property
    def stream(self) -> bytes:
        return self.batch._envelope.stream

    def numbers(self) -> list[int]:
        e, indices = self.batch._envelope, self.batch._indices
        return e.number_list(range(e.count) if indices is None else indices)

    def tag_of(self, place: int, opening: int) -> int:
        """Return the delivery tag of a message in the epoch `opening`; 0: none."""
        return self.counts[place] if self.opening == opening else 0

    def are(self, state: int, first: int, last: int) -> list[int]:
        """Return the places from `first` up to `last`, exclusive, whose messages are in `state`."""
        return [place for place in range(first, last) if self.states[place] == state]


EnvelopePlace = tuple[DeliveredEnvelope, int]
Some = tuple[DeliveredEnvelope, Sequence[int]]  # messages, and their places


SettleEntry = tuple[int, int, int, int, str]  # an entry of SETTLE


class Settlement(Struct, eq=False):
    """An ack, nack, reject or lease extension.

    The promise resolves when the node has stored the settlement, and fails if a message was lost. An implicit
    settlement, at the end of a block, also resolves when another node than the client's has to store it.
    """

    what: int
    of: Sequence[Some]
    delay: int = 0  # ms
    reason: str = ""
    promise: Promise | None = None
    left: int = 0  # times it was sent
    is_implicit: bool = False

    def __len__(self) -> int:
        return sum(len(places) for _, places in self.of)

    def __iter__(self) -> Iterator[EnvelopePlace]:
        return ((queued, place) for queued, places in self.of for place in places)

    def counts(self) -> list[int]:
        return [queued.counts[place] for queued, place in self]

    def entries(self) -> list[SettleEntry]:
        ends = as_ranges(self.counts())
        pairs = zip(ends[::2], ends[1::2], strict=True)
        return [(first, last, self.what, self.delay, self.reason) for first, last in pairs]

    @property
    def size(self) -> int:
        """The approximate size of the entries in SETTLE, in bytes."""
        return 10 * len(self) + 4 * len(self.reason)

    def among(self, ranges: Sequence[tuple[int, int]]) -> list[EnvelopePlace]:
        return [
            (queued, place)
            for queued, place in self
            if any(a <= queued.counts[place] <= b for a, b in ranges)
        ]

    def keep_tagged(self, opening: int) -> list[EnvelopePlace]:
        """Keep only messages with a delivery tag in the epoch `opening`; return the others."""
        others = [(queued, place) for queued, place in self if not queued.tag_of(place, opening)]
        if others:
            self.of = [(queued, (place,)) for queued, place in self if queued.tag_of(place, opening)]
        return others

    def kept(self) -> None:
        if self.promise is not None and not self.promise.done():
            self.promise.set_result(None)

    def kept_elsewhere(self, node: bytes) -> None:
        """Resolve an implicit settlement that another node than `node`, the client's, has to store."""
        if self.is_implicit and any(queued.node != node for queued, _ in self.of):
            self.kept()

    def broken(self, error: MeshError) -> None:
        if self.promise is not None and not self.promise.done():
            self.promise.set_exception(error)


def as_ranges(counts: Iterable[int]) -> tuple[int, ...]:
    """Return `counts`, in any order, as ranges: first, last, first, last, ..."""
    ranges: list[int] = []
    for tag in sorted(counts):
        if ranges and ranges[-1] == tag - 1:
            ranges[-1] = tag
        else:
            ranges += (tag, tag)
    return tuple(ranges)


def reassigned_tags(ends: list[int], most: int, address: str) -> set[int]:
    """Return the delivery tags in the ranges that `ends` lists. Raises: RemoteError for impossible ones.

    `most` is the number of messages that the consumer listed; `address` appears in the error.
    """
    before, counts = 0, set[int]()
    for first, last in zip(ends[::2], ends[1::2], strict=False):
        if not before < first <= last <= most:
            what = f"the range {first} to {last} of reassigned messages is invalid after {before}"
            raise RemoteError(
                f"{address}: {what}; the consumer listed {count(most, 'message')}", code="MALFORMED"
            )
        counts.update(range(first, last + 1))
        before = last
    if len(ends) % 2:
        what = f"the ranges of reassigned messages have an odd number of ends, {len(ends)}"
        raise RemoteError(f"{address}: {what}", code="MALFORMED")
    return counts


HeldRuns = tuple[tuple[bytes, tuple[int, ...]], ...]


def listed(places: Sequence[EnvelopePlace]) -> tuple[HeldRuns, tuple[bytes, ...]]:
    """Return the messages at `places`, in this order, as the fields `held` and `held_at` of CONSUME."""
    entries: list[tuple[bytes, list[int]]] = []
    nodes: list[bytes] = []
    before: DeliveredEnvelope | None = None
    numbers: list[int] = []
    for queued, place in places:
        if queued is not before:
            before, numbers = queued, queued.numbers()
        number, entry = numbers[place], entries[-1] if entries else None
        is_other = entry is None or (entry[0], nodes[-1]) != (queued.stream, queued.node)
        if entry is None or is_other or entry[1][-1] >= number:
            entries.append((queued.stream, [number, number]))
            nodes.append(queued.node)
        elif entry[1][-1] == number - 1:
            entry[1][-1] = number
        else:
            entry[1].extend((number, number))
    return tuple((stream, tuple(ends)) for stream, ends in entries), tuple(nodes)


def fitting(
    mine: list[EnvelopePlace], said: list[EnvelopePlace], waiting: list[EnvelopePlace]
) -> list[EnvelopePlace]:
    """Return as many messages as CONSUME can list, in the order of the arguments.

    Settled messages (`said`) are left out first, because the node has probably stored most settlements.
    """
    room = QUEUE_CREDIT - len(mine) - len(waiting)
    return [*mine, *said[: max(0, room)], *waiting][:QUEUE_CREDIT]
