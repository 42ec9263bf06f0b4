"""Messages for another site that are kept until a master there has given the final answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.log import stream_key
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.sites.refusals import FOR_NOW
from mesh.streams.promises import Promises
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope

WAITS = "FORWARD_WARNING"  # in transit, so not a final answer

# Law 1: an offered message is promised until its final answer, whether it was sent or not.
# Law 2: a permanent refusal is a final answer, and later messages continue. After a temporary refusal the
# message stays promised.


class PartlySent(Struct, eq=False):
    """A slice that leaves for a site, with the numbers that have no final answer yet."""

    parcel: StoredEnvelope
    envelope: Envelope
    left: Ranges
    was_sent: bool = False  # to a gateway: may have arrived


class Custody:
    """The unanswered messages for one site at one master here."""

    def __init__(self) -> None:
        self._promises = Promises()
        self._given: dict[bytes, dict[int, PartlySent]] = {}  # stream and domain -> in order
        self._count = 0

    def __len__(self) -> int:
        """Return the number of slices that were passed to `send` and have no final answer."""
        return sum(map(len, self._given.values()))

    def offer(self, portion: EnvelopeSlice) -> None:
        """Promise the messages of a slice to the site."""
        envelope = _wanted(portion)
        for first, last in envelope.ranges():
            self._promises.open(stream_key(envelope), first, last)

    def drop(self, envelope: Envelope) -> None:
        """Withdraw the promise for messages that will not be sent, as they were dropped or have expired."""
        for first, last in envelope.ranges():
            self._promises.close(stream_key(envelope), first, last)

    def send(self, portion: EnvelopeSlice) -> PartlySent:
        """Record that a slice may leave, and return the record of its unanswered numbers."""
        envelope, left = _wanted(portion), Ranges()
        left.add_all(envelope.ranges())
        self._count += 1
        given = PartlySent(portion.parcel, envelope, left)
        self._given.setdefault(stream_key(envelope), {})[self._count] = given
        return given

    def withdraw(self, given: PartlySent) -> None:
        """Drop a slice that was never sent and will not be, with its promise."""
        key = stream_key(given.envelope)
        row = self._given[key]
        del row[next(number for number, each in row.items() if each is given)]
        if not row:
            del self._given[key]
        given.left = Ranges()
        self.drop(given.envelope)

    def streams(self) -> Iterable[bytes]:
        """Return the keys, made of stream and domain, that have unanswered slices."""
        return self._given.keys()

    def is_open(self, key: bytes, number: int) -> bool:
        """Return whether the message is promised and has no final answer."""
        return self._promises.is_open(key, number)

    def has(self, key: bytes) -> bool:
        return key in self._given

    def unanswered(self, key: bytes) -> list[PartlySent]:
        """Return the unanswered slices of a stream in a domain in the publisher's order.

        After a crash they may have been sent in another order, and the other site holds back messages that
        follow a deferred one.
        """
        return sorted(self._given.get(key, {}).values(), key=lambda given: given.envelope.first)

    def low(self, envelope: Envelope, publishers: int) -> int:
        """Return the number below which this master sends the site nothing more of the stream.

        `publishers` is the corresponding number that the publisher announced.
        """
        return self._promises.low(stream_key(envelope), publishers)

    def answered(self, stream: bytes, answer: Answer) -> Iterator[tuple[PartlySent, list[tuple[int, int]]]]:
        """Settle the numbers of a final answer, and yield the slices concerned with those numbers.

        A FORWARD_WARNING and unexpected answers change nothing. Each slice is settled when the caller asks
        for it.
        """
        key = answer_key(stream, answer)
        given = self._given.get(key)
        if given is None or answer.state == WAITS or not 1 <= answer.first <= answer.last:
            return
        open_numbers = answer.last - answer.first + 1
        for number, each in list(given.items()):
            taken = each.left.remove(answer.first, answer.last)
            for first, last in taken:
                self._promises.close(key, first, last)
                open_numbers -= last - first + 1
            if not each.left:
                del given[number]
                if not given:
                    del self._given[key]
            if taken:
                yield each, taken
            if not open_numbers:
                break

    def about(self, stream: bytes, answer: Answer) -> Iterator[PartlySent]:
        """Yield the unanswered slices that an answer concerns."""
        for given in self._given.get(answer_key(stream, answer), {}).values():
            if 1 <= answer.first <= answer.last and given.left.overlaps(answer.first, answer.last):
                yield given


def is_put_off(answer: Answer, about: Iterable[PartlySent]) -> bool:
    """Return whether the site may accept the messages later.

    An EXPIRED answer counts as temporary if none of the slices in `about` has an expiry time.
    """
    if answer.state == "EXPIRED":
        return not any(given.envelope.expires for given in about)
    return answer.state in FOR_NOW


def answer_key(stream: bytes, answer: Answer) -> bytes:
    """Return the key of the stream and the domain that an answer concerns."""
    return stream + answer.domain.encode(errors="surrogatepass")


def _wanted(portion: EnvelopeSlice) -> Envelope:
    envelope = portion.parcel.envelope
    return envelope if portion.indices is None else envelope.cut(portion.indices)
