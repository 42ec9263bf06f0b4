"""Messages for another site that are kept until a master of that site has sent the final answer."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from mesh.flow.inflight import AnsweredPart, InFlight
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.log import stream_key
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.site_policy.refusals import FOR_NOW
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

    stored: StoredEnvelope
    envelope: Envelope
    left: Ranges = field(default_factory=Ranges)
    was_sent: bool = False  # to a gateway: may have arrived


class SiteInFlight:
    """The unanswered messages for one site at this master."""

    def __init__(self) -> None:
        self.streams = InFlight[bytes, PartlySent, bytes]()  # by stream and domain; the routes are gateways
        self._promises = Promises()

    def promise_slice(self, slice_: EnvelopeSlice) -> None:
        """Promise the messages of a slice to the site."""
        envelope = _wanted(slice_)
        for first, last in envelope.ranges():
            self._promises.add_numbers(stream_key(envelope), first, last)

    def drop(self, envelope: Envelope) -> None:
        """Withdraw the promise for messages that will not be sent, as they were dropped or have expired."""
        for first, last in envelope.ranges():
            self._promises.close(stream_key(envelope), first, last)

    def add_slice(self, slice_: EnvelopeSlice) -> PartlySent:
        """Add a slice that is about to be sent, and return it with its unanswered numbers."""
        given = PartlySent(slice_.stored, _wanted(slice_))
        given.left = self.streams.record_kept(stream_key(given.envelope), given, given.envelope.ranges())
        return given

    def drop_slice(self, given: PartlySent) -> None:
        """Drop a slice that was never sent and will not be, with its promise."""
        self.streams.drop(stream_key(given.envelope), given)
        given.left = Ranges()
        self.drop(given.envelope)

    def is_open(self, key: bytes, number: int) -> bool:
        """Return whether the message is promised and has no final answer."""
        return self._promises.is_open(key, number)

    def unanswered(self, key: bytes) -> list[PartlySent]:
        """Return the unanswered slices of a stream in a domain in the publisher's order.

        After a crash they may have been sent in another order, and the other site holds back messages that
        follow a deferred one.
        """
        return sorted(self.streams.waiters(key), key=lambda given: given.envelope.first)

    def low(self, envelope: Envelope, publishers: int) -> int:
        """Return the number below which this master sends the site nothing more of the stream.

        `publishers` is the corresponding number that the publisher announced.
        """
        return self._promises.low(stream_key(envelope), publishers)

    def settle_answer(self, stream: bytes, answer: Answer) -> list[AnsweredPart[PartlySent]]:
        """Settle the numbers of a final answer, and return them with the slices concerned.

        A FORWARD_WARNING and unexpected answers change nothing.
        """
        if answer.state == WAITS:
            return []
        key = answer_key(stream, answer)
        parts = self.streams.apply_answer(key, answer.first, answer.last, is_shared=False)
        for _, first, last, _ in parts:
            self._promises.close(key, first, last)
        return parts

    def about(self, stream: bytes, answer: Answer) -> list[PartlySent]:
        """Return the unanswered slices that an answer concerns."""
        return self.streams.overlapping(answer_key(stream, answer), answer.first, answer.last)


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


def _wanted(slice_: EnvelopeSlice) -> Envelope:
    envelope = slice_.stored.envelope
    return envelope if slice_.indices is None else envelope.cut(slice_.indices)
