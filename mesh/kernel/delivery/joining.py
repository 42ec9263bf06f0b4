"""New subscriptions that wait for their first values, and the messages that they receive meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.sink import Sink, Targets
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import Envelope

Stamp = tuple[int, bytes, int]  # hybrid clock, stream, number
NOTED = 10_000  # topics noted per newcomer; beyond, old values may arrive


@dataclass(slots=True)
class Newcomer:
    """A subscription that waits for its first values."""

    waits: int = 0  # unanswered questions
    lacks: bool = False  # still has to ask, perhaps when masters return
    came: dict[tuple[str, str], Stamp] = field(default_factory=dict)  # (key, domain) -> newest meanwhile
    ids: set[tuple[bytes, str, int]] = field(default_factory=set)  # of messages meanwhile, if it is held


class Joining:
    """The subscriptions that wait for their first values, usually none."""

    def __init__(self) -> None:
        self._newcomers: dict[Sink, Newcomer] = {}

    def __len__(self) -> int:
        return len(self._newcomers)

    def is_joining(self, taker: Sink) -> bool:
        return taker in self._newcomers

    def expects(self, feed: Feed) -> None:
        """Register a subscription that will ask for existing values once all nodes know it.

        The subscription's messages are noted from now on, so that no older value follows them, even if their
        master loses them before this node asks.
        """
        self._newcomers.setdefault(feed, Newcomer()).lacks = True

    def begins(self, feed: Feed) -> None:
        """Register a question for existing values, as new messages may arrive before the answer."""
        self._newcomers.setdefault(feed, Newcomer()).waits += 1

    def record_targets(self, envelope: Envelope, targets: Targets) -> None:
        """Record messages that are delivered to waiting subscriptions."""
        for taker, indices in targets:
            newcomer = self._newcomers.get(taker)
            if newcomer is not None:
                every = range(envelope.count) if indices is None else indices
                if isinstance(taker, Feed) and taker.is_held:
                    self._record_ids(newcomer, taker, envelope, every)
                for key in {envelope.keys[envelope.row(i)] for i in every}:
                    topic = (key, envelope.domain)
                    newest = newcomer.came.get(topic)
                    if newest is not None or len(newcomer.came) < NOTED:
                        newcomer.came[topic] = max(envelope.stamp, newest or envelope.stamp)

    def _record_ids(self, newcomer: Newcomer, feed: Feed, envelope: Envelope, every: Sequence[int]) -> None:
        """Record the messages that wait in a held feed. A feed with too many of them is held no longer."""
        newcomer.ids.update((envelope.stream, envelope.domain, n) for n in envelope.number_list(every))
        if len(newcomer.ids) > NOTED:
            newcomer.ids.clear()
            feed.release_held()

    def initial(
        self, feed: Feed, values: Iterable[tuple[bytes, Envelope]], now: float, lacks: bool = False
    ) -> None:
        """Deliver first values in each publisher's order, unless newer messages have replaced them.

        `lacks` means that the subscription will ask for more. A held feed gets all values before the messages
        that arrived meanwhile.
        """
        newcomer = self._newcomers[feed]
        newcomer.waits -= 1
        newcomer.lacks = lacks
        self._let_go(feed, newcomer)
        ordered = sorted(values, key=lambda value: value[1].stamp)
        if feed.is_held:
            ids, newcomer.ids = newcomer.ids, set()
            new = [(m, e) for m, e in ordered if (e.stream, e.domain, e.last) not in ids]
            feed.begin_with([EnvelopeSlice(StoredEnvelope(e, master=m)) for m, e in new], now)
            return
        for master, envelope in ordered:
            newest = newcomer.came.get((envelope.keys[0], envelope.domain))
            if newest is None or newest < envelope.stamp:
                feed.offer(EnvelopeSlice(StoredEnvelope(envelope, master=master)), now)

    def lacks_nothing(self, feed: Feed) -> None:
        """End the wait of a subscription for further values."""
        newcomer = self._newcomers.get(feed)
        if newcomer is not None:
            newcomer.lacks = False
            self._let_go(feed, newcomer)

    def _let_go(self, feed: Feed, newcomer: Newcomer) -> None:
        if not (newcomer.waits or newcomer.lacks):
            del self._newcomers[feed]
