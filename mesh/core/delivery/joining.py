"""Which subscriptions wait for the values that are there already, and what went past them meanwhile?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from mesh.routing.feed import Feed
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.routing.taker import Taker, Targets
from mesh.wire.envelope import Envelope

Stamp = tuple[int, bytes, int]  # hybrid clock, stream, number
NOTED = 10_000  # topics of a newcomer: of more it may be given a value that a newer one went past


@dataclass(slots=True)
class Newcomer:
    """A subscription that waits for its first values."""

    waits: int = 0  # how many times it asked
    lacks: bool = False  # it is to ask yet: at first, or when masters are back
    came: dict[tuple[str, str], Stamp] = field(default_factory=dict)  # (key, domain) -> newest meanwhile


class Joining:
    """All of them. Most of the time there is none."""

    def __init__(self) -> None:
        self._newcomers: dict[Taker, Newcomer] = {}

    def __len__(self) -> int:
        return len(self._newcomers)

    def has(self, taker: Taker) -> bool:
        """Does it wait for its first values?"""
        return taker in self._newcomers

    def expects(self, feed: Feed) -> None:
        """A new subscription is to ask for the values that are there, when all nodes know of it. A master
        that ends before it is asked may have lost by then what it gave meanwhile.
        """
        self._newcomers.setdefault(feed, Newcomer()).lacks = True

    def begins(self, feed: Feed) -> None:
        """A subscription asks for the values that are there already; meanwhile messages may come."""
        self._newcomers.setdefault(feed, Newcomer()).waits += 1

    def note(self, envelope: Envelope, targets: Targets) -> None:
        """That goes to these takers now."""
        for taker, indices in targets:
            newcomer = self._newcomers.get(taker)
            if newcomer is not None:
                every = range(envelope.count) if indices is None else indices
                for key in {envelope.keys[envelope.row(i)] for i in every}:
                    topic = (key, envelope.domain)
                    newest = newcomer.came.get(topic)
                    if newest is not None or len(newcomer.came) < NOTED:
                        newcomer.came[topic] = max(envelope.stamp, newest or envelope.stamp)

    def initial(
        self, feed: Feed, values: Iterable[tuple[bytes, Envelope]], now: float, lacks: bool = False
    ) -> None:
        """Give them to it, in each publisher's order, but for those that newer messages went past. `lacks`:
        it will ask for others.
        """
        newcomer = self._newcomers[feed]
        newcomer.waits -= 1
        newcomer.lacks = lacks
        self._let_go(feed, newcomer)
        for master, envelope in sorted(values, key=lambda value: value[1].stamp):
            newest = newcomer.came.get((envelope.keys[0], envelope.domain))
            if newest is None or newest < envelope.stamp:
                feed.offer(Portion(Parcel(envelope, master=master)), now)

    def lacks_nothing(self, feed: Feed) -> None:
        """It gets no more of them."""
        newcomer = self._newcomers.get(feed)
        if newcomer is not None:
            newcomer.lacks = False
            self._let_go(feed, newcomer)

    def _let_go(self, feed: Feed, newcomer: Newcomer) -> None:
        """Of one that waits for nothing, nothing more is noted."""
        if not (newcomer.waits or newcomer.lacks):
            del self._newcomers[feed]
