"""Deduplication of messages that several masters deliver, for a limited number of streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf

from mesh.flow.bounded import Bounded
from mesh.hops import is_foreign
from mesh.routing.seen import Seen
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import ERASED, Envelope

# Law 1: each master delivers a publisher's messages in order. A lower number than one already handed on is
# therefore a duplicate, and handing on only new ones keeps the order. Masters that back each other up deliver
# different parts, some much later, and a node that relays some keys of a pattern delivers those first: for
# these, only numbers already handed on are duplicates.
# Law 2: a duplicate is settled with its own master when the first copy is settled here. Otherwise a crash of
# this node and of the first master would lose the message.
# Law 3: a subscription that moved here, or behind a peer, misses what was handed on before. It gets that from
# any master that delivers it later: its former node may have been such a master, and the log of the first one
# had no reader.

STREAMS = 10_000  # most recently used publisher streams
MARKS = 8  # arrivals of which a stream knows the first number handed on after them

Masters = tuple[str, ...]
MergedStream = tuple[bytes, str, Masters]


class Merging:
    """Deduplicates the messages that several masters deliver.

    `masters(key, envelope)` returns the masters by the rules. `in_parts(key, envelope)` returns
    whether parts of a publisher's messages may arrive before the rest.
    """

    def __init__(
        self,
        me: str,
        masters: Callable[[str, Envelope], Masters],
        in_parts: Callable[[str, Envelope], bool] = lambda key, envelope: False,
    ) -> None:
        self._me = me
        self._masters, self._in_parts = masters, in_parts
        self._seen = Seen()
        self._highest = Bounded[MergedStream, int](STREAMS)  # highest number handed on
        self._arrivals = 0  # subscriptions that have moved here or behind a peer
        # By stream: numbers of arrivals, and the first number handed on after each of them.
        self._after = Bounded[MergedStream, list[tuple[int, int]]](STREAMS)
        # By stream: stored envelopes needed here, each with its duplicates.
        self._open: dict[tuple[bytes, str], dict[StoredEnvelope, list[StoredEnvelope]]] = {}

    def select_new(self, stored: StoredEnvelope) -> tuple[int, ...] | None:
        return self.news(stored.envelope)

    def news(self, e: Envelope) -> tuple[int, ...] | None:
        """Return the indices of the new messages of an envelope (None: all), and mark these as handed on.

        The end of a topic is always new, and not marked.
        """
        if e.flags & ERASED:
            return None  # its numbers are those of requests
        if is_foreign(e.sender) or any(self._in_parts(key, e) for key in e.keys):
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

    @property
    def has_arrivals(self) -> bool:
        return self._arrivals > 0

    def mark_arrival(self) -> int:
        """Return the mark of a subscription that moves here, or behind a peer, now."""
        self._arrivals += 1
        return self._arrivals

    def missed_before(self, mark: int, e: Envelope) -> set[int]:
        """Return the indices of messages that were handed on before the subscription with this mark came."""
        if is_foreign(e.sender) or e.flags & ERASED:
            return set()
        firsts = [self._first_after(mark, stream) if stream else 0 for stream in self._streams(e)]
        rows = e.rows()
        return {i for i, number in enumerate(e.number_list(range(e.count))) if number < firsts[rows[i]]}

    def _first_after(self, mark: int, stream: MergedStream) -> float:
        """Return the first number of a stream that was handed on since an arrival."""
        found = (number for arrival, number in self._after.get(stream, ()) if arrival >= mark)
        return next(found, inf)

    def _unseen(self, e: Envelope) -> tuple[int, ...] | None:
        """Return the indices of messages whose numbers are new (None: all), and mark these as handed on.

        Keys without a backup arrive once anyway, or from several masters that have all their messages.
        Messages of another site need this check because no rule names their master, and any linked node may
        deliver them.
        """
        numbers = e.number_list(range(e.count))
        news = tuple([i for i, number in enumerate(numbers) if self._seen.is_new(e, number)])
        return None if len(news) == e.count else news

    def forget_messages(self, e: Envelope, indices: Iterable[int] | None) -> None:
        """Mark the messages at `indices` (None: all) as not handed on, after their acceptance failed.

        For streams of which only the highest number is kept, this has no effect.
        """
        self._seen.forget_messages(e, range(e.count) if indices is None else indices)

    def had(self, e: Envelope) -> None:
        """Record that this node accepted the envelope itself, if its messages may arrive in parts."""
        if not e.flags & ERASED and any(self._in_parts(key, e) for key in e.keys):
            self._seen.add(e)

    def passed(self, value: Envelope, source: str) -> None:
        """Record a retained value that overtook messages which its masters still deliver.

        `source` is the node that sent the value, after everything else that it had for this node. A value
        from a node other than its master is a copy, and earlier subscribers are still owed the message.
        """
        if not self._in_parts(value.keys[0], value):
            self._raise(self._streams(value)[0], value.last)
        elif value.master == source:
            self._seen.add(value)

    def remember(self, stored: StoredEnvelope) -> None:
        """Remember a stored envelope that was handed on, until `settle_duplicates`."""
        self._open.setdefault(_lane(stored), {})[stored] = []

    @property
    def has_open(self) -> bool:
        """True if a stored envelope that was handed on is still needed here."""
        return bool(self._open)

    def waits(self, repeat: StoredEnvelope) -> bool:
        """Attach a duplicate to its first copy, or return `False` if that copy is no longer needed here."""
        e = repeat.envelope
        for stored, repeats in reversed(self._open.get(_lane(repeat), {}).items()):
            if stored.envelope.last < e.first:
                break  # they are in order of number
            if stored.envelope.first <= e.last:
                repeats.append(repeat)
                return True
        return False

    def settle_duplicates(self, stored: StoredEnvelope) -> list[StoredEnvelope]:
        """Return the duplicates that are settled with a stored envelope that is no longer needed."""
        lane = self._open.get(_lane(stored), {})
        repeats = lane.pop(stored, [])
        if not lane:
            self._open.pop(_lane(stored), None)
        return repeats

    def _streams(self, e: Envelope) -> list[MergedStream | None]:
        """Return the stream of each key that is merged.

        A key with one master, or with this node as a master, has None.
        """
        shared = [self._masters(key, e) for key in e.keys]
        return [(e.stream, e.domain, m) if len(m) > 1 and self._me not in m else None for m in shared]

    def _raise(self, stream: MergedStream | None, number: int) -> None:
        if stream is None:
            return
        before = self._highest.get(stream, 0)
        self._highest.keep(stream, max(number, before))
        if self._arrivals and number > before:
            after = self._after.get(stream, [])
            if not after or after[-1][0] < self._arrivals:
                self._after.keep(stream, [*after[1 - MARKS :], (self._arrivals, number)])


def _lane(stored: StoredEnvelope) -> tuple[bytes, str]:
    return stored.envelope.stream, stored.envelope.domain
