"""Everything that one peer wants from this node: of our own log, and of what we get for it from others."""

from __future__ import annotations

from collections.abc import Callable

from mesh.routing.feed import Feed, Lost
from mesh.routing.interest import weight
from mesh.routing.overflow import Credit
from mesh.routing.paging import Paging
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.routing.querytrie import wants
from mesh.routing.unsettled import Unsettled
from mesh.wire.commands import Query


class PeerFeed(Feed):
    """That of a peer. It passes on: what it has taken is settled when it says that all there are done."""

    is_peer = True

    def __init__(
        self,
        key: bytes,
        credit: Credit,
        send: Callable[[Feed, Portion], None],
        released: Callable[[Parcel], None],
        wall: Callable[[], int] = lambda: 0,
        owner: str = "",
        paging: Paging | None = None,
        lost: Lost = lambda envelope, why, n: None,
    ) -> None:
        super().__init__(key, credit, send, released, wall=wall, paging=paging, lost=lost)
        self.owner = owner
        self.wanted_bytes = 0  # what its queries take, by `weight`
        self.since: dict[Query, dict[bytes, int]] = {}  # where they count from in the logs of other masters
        self._asked_until: dict[bytes, int] = {}  # master -> the highest of these
        self._unsettled = Unsettled(credit.backlog, paging)

    def asked(self, query: Query, position: int, since: dict[bytes, int]) -> None:
        if query not in self.queries:
            self.wanted_bytes += weight(query)
        super().asked(query, position, since)
        self.since[query] = since
        for master, place in since.items():
            self._asked_until[master] = max(place, self._asked_until.get(master, 0))

    def unasked(self, query: Query) -> None:
        """A query that counts no more."""
        del self.queries[query]
        self.wanted_bytes -= weight(query)
        self.since.pop(query, None)

    def is_due(self, parcel: Parcel) -> bool:
        """Did the peer ask before this place in its master's log? (What comes again may be older.)"""
        master, place, envelope = parcel.master, parcel.position, parcel.envelope
        if not place or place > self._asked_until.get(master, 0):
            return True
        queries = [query for query in self.queries if self.since.get(query, {}).get(master, 0) < place]
        domain, xml = envelope.domain, envelope.xml
        return any(wants(query, key, domain, xml) for key in envelope.keys for query in queries)

    def settled(self, master: bytes, position: int) -> bool:
        """The peer is done with a master's log up to `position`. Did our own position change?"""
        before = self.position
        for portion in self._unsettled.settle(master, position):
            super()._took(portion)
        return self.position != before

    def restart(self) -> None:
        gap, again = self._unsettled.trusted, self._unsettled.take_all()
        self.delivered -= sum(portion.messages for portion in again) + gap
        self.dropped += gap
        self._again(again, gap)

    def skip(self, master: bytes, position: int) -> None:
        """The peer says that it has that log up to here already (it settles it later)."""
        for portion in self._backlog.take_all():
            if portion.parcel.master == master and 0 < portion.parcel.position <= position:
                self.delivered += portion.messages
                self.gap += portion.take_gap()
                self._took(portion)
            else:
                self._backlog.append(portion)

    @property
    def is_owed(self) -> bool:
        return super().is_owed or bool(self._unsettled)

    def _took(self, portion: Portion) -> None:
        if not portion.is_persistent:
            super()._took(portion)
            return
        for oldest in self._unsettled.keep(portion):
            super()._took(oldest)

    def _take_everything(self) -> list[Portion]:
        return [*super()._take_everything(), *self._unsettled.take_all()]
