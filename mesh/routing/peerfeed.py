"""The feed of one peer: messages of this node's log, and messages of other masters relayed to the peer."""

from __future__ import annotations

from collections.abc import Callable

from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.feed_state import Lost
from mesh.routing.interest import weight
from mesh.routing.overflow import Credit
from mesh.routing.paging import Paging
from mesh.routing.querytrie import wants
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.unsettled import Unsettled
from mesh.wire.commands import Query


class PeerFeed(Feed):
    """The feed of a peer, which relays the messages to its own readers.

    A persistent message is settled when the peer's readers have settled it, a transient one when the peer has
    processed it. Beyond the backlog limit the oldest persistent slices are settled here and left to the peer.
    """

    is_peer = True

    def __init__(
        self,
        key: bytes,
        credit: Credit,
        send: Callable[[Feed, EnvelopeSlice], None],
        released: Callable[[StoredEnvelope], None],
        wall: Callable[[], int] = lambda: 0,
        owner: str = "",
        paging: Paging | None = None,
        lost: Lost = lambda envelope, why, n: None,
    ) -> None:
        super().__init__(key, credit, send, released, wall=wall, paging=paging, lost=lost)
        self.owner = owner
        self.wanted_bytes = 0  # size of its queries, by `weight`
        self.since: dict[Query, dict[bytes, int]] = {}  # query: start in the logs of other masters
        self._asked_until: dict[bytes, int] = {}  # by master: highest start in `since`
        self._unsettled = Unsettled(credit.backlog, paging)

    def add_query(self, query: Query, position: int, since: dict[bytes, int]) -> None:
        if query not in self.queries:
            self.wanted_bytes += weight(query)
        super().add_query(query, position, since)
        self.since[query] = since
        for master, place in since.items():
            self._asked_until[master] = max(place, self._asked_until.get(master, 0))

    def unasked(self, query: Query) -> None:
        del self.queries[query]
        self.wanted_bytes -= weight(query)
        self.since.pop(query, None)

    def is_due(self, stored: StoredEnvelope) -> bool:
        """Return whether a query for the envelope starts before its position in the master's log.

        Transient envelopes are always due. A repeated envelope may be older than the queries.
        """
        master, place, envelope = stored.master, stored.position, stored.envelope
        if not place or place > self._asked_until.get(master, 0):
            return True
        queries = [query for query in self.queries if self.since.get(query, {}).get(master, 0) < place]
        domain, xml = envelope.domain, envelope.xml
        return any(wants(query, key, domain, xml) for key in envelope.keys for query in queries)

    def settle_master(self, master: bytes, position: int) -> bool:
        """Settle a master's log up to `position`, and return whether `self.position` has changed."""
        before = self.position
        for slice_ in self._unsettled.settle(master, position):
            super()._settle_slice(slice_)
        return self.position != before

    def unsettled(self, master: bytes, below: float) -> int:
        """Return the number of messages below a position in a master's log that the peer has not settled."""
        return self._unsettled.count(master, below)

    def restart(self) -> None:
        gap, again = self._unsettled.trusted, self._unsettled.take_all()
        self.delivered -= sum(slice_.messages for slice_ in again) + gap
        self.dropped += gap
        self._requeue_all(again, gap)

    def skip(self, master: bytes, position: int) -> None:
        """Count waiting messages of a master's log up to `position` as delivered: the peer has them already.

        They came over another route, and the peer settles them later.
        """
        for slice_ in self._backlog.take_all():
            if slice_.stored.master == master and 0 < slice_.stored.position <= position:
                self.delivered += slice_.messages
                self.gap += slice_.take_gap()
                self._settle_slice(slice_)
            else:
                self._backlog.append(slice_)

    @property
    def is_owed(self) -> bool:
        return super().is_owed or bool(self._unsettled)

    def _settle_slice(self, slice_: EnvelopeSlice) -> None:
        if not slice_.is_persistent:
            super()._settle_slice(slice_)
            return
        for oldest in self._unsettled.add_slice(slice_):
            super()._settle_slice(oldest)

    def _take_everything(self) -> list[EnvelopeSlice]:
        return [*super()._take_everything(), *self._unsettled.take_all()]
