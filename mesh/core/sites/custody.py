"""What has another site been given, and not answered? We keep it until a master there has it."""

from __future__ import annotations

from msgspec import Struct

from mesh.routing.log import stream_key
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.routing.upstream import Upstream
from mesh.streams.promises import Promises
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope

WAITS = "FORWARD_WARNING"  # it is on its way there: no last word

# Law 1: what was offered is promised until the last word of each of its numbers, whether it was sent or not.
# Law 2: a place in our log is settled when that and all before it have their last words, in whatever order
#        these come. A refusal is one: the site will not have it, and what follows goes on.


class Given(Struct, eq=False):
    """A parcel of which some was sent, and the numbers of it that have no last word."""

    parcel: Parcel
    left: Ranges


class Custody:
    """That of one site at one master of ours. What it holds was offered to it, until it is answered."""

    def __init__(self) -> None:
        self._promises = Promises()
        self._log = Upstream()  # places in our log, in the order in which they are sent
        self._given: dict[bytes, dict[int, Given]] = {}  # stream and domain -> in order
        self._count = 0

    def __len__(self) -> int:
        """The count of portions that were sent, and have no last word."""
        return sum(map(len, self._given.values()))

    def offer(self, portion: Portion) -> None:
        """It is owed to the site from now on."""
        envelope = _wanted(portion)
        for first, last in envelope.ranges():
            self._promises.open(stream_key(envelope), first, last)

    def drop(self, portion: Portion) -> None:
        """It will not be sent: there was no room, or it is void."""
        envelope = _wanted(portion)
        for first, last in envelope.ranges():
            self._promises.close(stream_key(envelope), first, last)

    def send(self, portion: Portion) -> Envelope | None:
        """The envelope that leaves; None when it is on its way already."""
        parcel = portion.parcel
        if parcel.position and not self._log.receive(parcel):
            return None
        envelope, left = _wanted(portion), Ranges()
        left.add_all(envelope.ranges())
        self._count += 1
        self._given.setdefault(stream_key(envelope), {})[self._count] = Given(parcel, left)
        return envelope

    def low(self, envelope: Envelope, publishers: int) -> int:
        """The low that this master may promise the site; `publishers`: that of its publisher here."""
        return self._promises.low(stream_key(envelope), publishers)

    @property
    def settled(self) -> int:
        """The place in our log up to which the site has had, or will not have, all that it was sent."""
        return self._log.settled

    def answered(self, stream: bytes, answer: Answer) -> list[Parcel]:
        """The parcels of which that was the last word. What nobody asked changes nothing."""
        key, done = stream + answer.domain.encode(errors="surrogatepass"), list[Parcel]()
        given = self._given.get(key)
        if given is None or answer.state == WAITS or not 1 <= answer.first <= answer.last:
            return done
        open_numbers = answer.last - answer.first + 1
        for number, each in list(given.items()):
            for first, last in each.left.remove(answer.first, answer.last):
                self._promises.close(key, first, last)
                open_numbers -= last - first + 1
            if not each.left:
                done.append(each.parcel)
                del given[number]
                if each.parcel.position:
                    self._log.release(each.parcel)
            if not open_numbers:
                break
        if not given:
            del self._given[key]
        return done


def _wanted(portion: Portion) -> Envelope:
    """The messages of it that the site gets."""
    envelope = portion.parcel.envelope
    return envelope if portion.indices is None else envelope.cut(portion.indices)
