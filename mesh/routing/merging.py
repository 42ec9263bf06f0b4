"""Of what several masters bring, what is new here? Each message is handed on once, from whoever is first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from mesh.routing.parcel import Parcel
from mesh.routing.seen import Seen
from mesh.sites.hops import is_foreign
from mesh.wire.envelope import ERASED, Envelope

# Law 1: every master brings a publisher's messages in their order. So what has a lower number than what went
#        past already is no news, and handing on only news keeps the order.
#        Masters that stand in for each other bring each only some, one of them perhaps much later: of these
#        it is no news what went past itself.
# Law 2: a repeat is settled with its own master when its first copy is settled here: else a crash of this
#        node and of the master that was first would lose it together.

STREAMS = 10_000  # of publishers, that were heard of last

Masters = tuple[str, ...]
MergedStream = tuple[bytes, str, Masters]


class Merging:
    """The merging of what several masters bring. `masters(key, envelope)` names those that rules give it,
    and `is_backed(key, envelope)` says whether they have backups."""

    def __init__(
        self,
        me: str,
        masters: Callable[[str, Envelope], Masters],
        is_backed: Callable[[str, Envelope], bool] = lambda key, envelope: False,
    ) -> None:
        self._me = me
        self._masters, self._is_backed = masters, is_backed
        self._seen = Seen()
        self._highest: OrderedDict[MergedStream, int] = OrderedDict()  # that was handed on
        # By stream: what somebody here still needs, each with its repeats.
        self._open: dict[tuple[bytes, str], dict[Parcel, list[Parcel]]] = {}

    def take(self, parcel: Parcel) -> tuple[int, ...] | None:
        """The messages of it that are new; None = all. Whatever comes again is no news from now on."""
        return self.news(parcel.envelope)

    def news(self, e: Envelope) -> tuple[int, ...] | None:
        """The same of an envelope, whoever has taken it."""
        if e.flags & ERASED:
            return None  # its numbers are another count: a client's requests
        if is_foreign(e.sender) or any(self._is_backed(key, e) for key in e.keys):
            return self._unseen(e)
        streams = self._streams(e)
        rows = e.rows()
        if not any(streams):
            return None
        before = [self._highest.get(stream, 0) if stream else 0 for stream in streams]
        numbers = e.number_list(range(e.count))
        news = tuple([i for i, number in enumerate(numbers) if number > before[rows[i]]])
        for i in news:
            self._raise(streams[rows[i]], numbers[i])
        return None if len(news) == e.count else news

    def _unseen(self, e: Envelope) -> tuple[int, ...] | None:
        """Of what masters take in each other's place: of all its keys, as what has no backup is brought once
        anyway, or by several that have all. So is taken what came from another site, where no rule names a
        master: by whichever node is linked with that when it comes, or comes again."""
        numbers = e.number_list(range(e.count))
        news = tuple([i for i, number in enumerate(numbers) if self._seen.is_new(e, number)])
        return None if len(news) == e.count else news

    def lost(self, e: Envelope, indices: Iterable[int] | None) -> None:
        """What came from another site could not be taken after all; these were new to somebody here."""
        self._seen.lost(e, range(e.count) if indices is None else indices)

    def had(self, e: Envelope) -> None:
        """This node has taken it itself, as one of those that stand in for each other."""
        if not e.flags & ERASED and any(self._is_backed(key, e) for key in e.keys):
            self._seen.add(e)

    def passed(self, value: Envelope, source: str) -> None:
        """A last value went past what its masters still bring; that node has told it, behind all that it had
        for us. Another than its master has it as a copy, and who was here before is owed it yet."""
        if not self._is_backed(value.keys[0], value):
            self._raise(self._streams(value)[0], value.last)
        elif value.master == source:
            self._seen.add(value)

    def keep(self, parcel: Parcel) -> None:
        """Keep what was handed on: somebody here needs it until it is released."""
        self._open.setdefault(_lane(parcel), {})[parcel] = []

    def waits(self, repeat: Parcel) -> bool:
        """Is its first copy still needed here? Then it is settled with that one."""
        e = repeat.envelope
        for parcel, repeats in reversed(self._open.get(_lane(repeat), {}).items()):
            if parcel.envelope.last < e.first:
                break  # they are in the order of their numbers
            if parcel.envelope.first <= e.last:
                repeats.append(repeat)
                return True
        return False

    def released(self, parcel: Parcel) -> list[Parcel]:
        """Release what nobody here needs any more; returns the repeats that are settled with it."""
        lane = self._open.get(_lane(parcel), {})
        repeats = lane.pop(parcel, [])
        if not lane:
            self._open.pop(_lane(parcel), None)
        return repeats

    def _streams(self, e: Envelope) -> list[MergedStream | None]:
        """For each key: what counts together; None for what has one master."""
        shared = [self._masters(key, e) for key in e.keys]
        return [(e.stream, e.domain, m) if len(m) > 1 and self._me not in m else None for m in shared]

    def _raise(self, stream: MergedStream | None, number: int) -> None:
        if stream is not None:
            self._highest[stream] = max(number, self._highest.get(stream, 0))
            self._highest.move_to_end(stream)
            while len(self._highest) > STREAMS:
                self._highest.popitem(last=False)


def _lane(parcel: Parcel) -> tuple[bytes, str]:
    return parcel.envelope.stream, parcel.envelope.domain
