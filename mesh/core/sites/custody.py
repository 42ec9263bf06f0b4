"""What has another site been given, and not answered? We keep it until a master there has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from mesh.routing.log import stream_key
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.sites.pauses import FOR_NOW
from mesh.streams.promises import Promises
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope

WAITS = "FORWARD_WARNING"  # it is on its way there: no last word

# Law 1: what was offered is promised until the last word of each of its numbers, whether it was sent or not.
# Law 2: a refusal for good is a last word: the site will not have it, and what follows goes on. What it only
#        cannot have now is promised still.


class PartlySent(Struct, eq=False):
    """A parcel of which some has left: the envelope of that, and its numbers without their last word."""

    parcel: Parcel
    envelope: Envelope
    left: Ranges
    was_sent: bool = False  # to a gateway: it may have come there


class Custody:
    """That of one site at one master of ours. What it holds was offered to it, until it is answered."""

    def __init__(self) -> None:
        self._promises = Promises()
        self._given: dict[bytes, dict[int, PartlySent]] = {}  # stream and domain -> in order
        self._count = 0

    def __len__(self) -> int:
        """The count of portions that were sent, and have no last word."""
        return sum(map(len, self._given.values()))

    def offer(self, portion: Portion) -> None:
        """It is owed to the site from now on."""
        envelope = _wanted(portion)
        for first, last in envelope.ranges():
            self._promises.open(stream_key(envelope), first, last)

    def drop(self, envelope: Envelope) -> None:
        """These messages will not be sent: there was no room, or they are void."""
        for first, last in envelope.ranges():
            self._promises.close(stream_key(envelope), first, last)

    def send(self, portion: Portion) -> PartlySent:
        """What leaves."""
        envelope, left = _wanted(portion), Ranges()
        left.add_all(envelope.ranges())
        self._count += 1
        given = PartlySent(portion.parcel, envelope, left)
        self._given.setdefault(stream_key(envelope), {})[self._count] = given
        return given

    def withdraw(self, given: PartlySent) -> None:
        """It was sent to nobody, and will not be: as `drop`, of what had left."""
        key = stream_key(given.envelope)
        row = self._given[key]
        del row[next(number for number, each in row.items() if each is given)]
        if not row:
            del self._given[key]
        given.left = Ranges()
        self.drop(given.envelope)

    def streams(self) -> Iterable[bytes]:
        """Streams, with their domains, of which anything was sent, and has no last word."""
        return self._given.keys()

    def is_open(self, key: bytes, number: int) -> bool:
        """Is that one owed, or under way, and not answered?"""
        return self._promises.is_open(key, number)

    def has(self, key: bytes) -> bool:
        """Is anything of that stream unanswered?"""
        return key in self._given

    def unanswered(self, key: bytes) -> list[PartlySent]:
        """All that was sent of one, and has no last word, in its publisher's order: after a crash it may have
        been taken in another one, and what is put off there is waited for by what comes later.
        """
        return sorted(self._given.get(key, {}).values(), key=lambda given: given.envelope.first)

    def low(self, envelope: Envelope, publishers: int) -> int:
        """The low that this master may promise the site; `publishers`: that of its publisher here."""
        return self._promises.low(stream_key(envelope), publishers)

    def answered(self, stream: bytes, answer: Answer) -> Iterator[tuple[PartlySent, list[tuple[int, int]]]]:
        """What was given and that is about, with the numbers of each. What nobody asked changes nothing."""
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
        """What that is about, and has no last word."""
        for given in self._given.get(answer_key(stream, answer), {}).values():
            if 1 <= answer.first <= answer.last and given.left.overlaps(answer.first, answer.last):
                yield given


def is_put_off(answer: Answer, about: Iterable[PartlySent]) -> bool:
    """Will the site take it later? What is void only there, and not by itself, it will."""
    if answer.state == "EXPIRED":
        return not any(given.envelope.expires for given in about)
    return answer.state in FOR_NOW


def answer_key(stream: bytes, answer: Answer) -> bytes:
    """The stream and the domain that it is about."""
    return stream + answer.domain.encode(errors="surrogatepass")


def _wanted(portion: Portion) -> Envelope:
    """The messages of it that the site gets."""
    envelope = portion.parcel.envelope
    return envelope if portion.indices is None else envelope.cut(portion.indices)
