"""Receives the items of other masters, which several peers may send, and relays each message once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from heapq import merge
from itertools import chain

from msgspec.structs import replace

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.item_relay import Select
from mesh.kernel.delivery.router import Router
from mesh.kernel.forwarding.dirty_reads import DirtyReads
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.subscribers.copies import Copies
from mesh.kernel.subscribers.settling import FeedSettling
from mesh.mapping.mapping import Mapping
from mesh.routing.merging import Merging
from mesh.routing.refill_gates import RefillGates, place_of
from mesh.routing.sink import Sink
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.upstream import Upstream
from mesh.wire.envelope import Envelope
from mesh.wire.limits import HOPS

# Law 1: a repeated item is not relayed again, and is settled once no subscriber here needs its first copy.
# Law 2: an item that circulates between two relays is settled immediately; else both would wait forever.
# Law 3: if several masters send an item, only its new messages are relayed; see also law 3 of `Merging`.
# Law 4: of a refilled log, the items of the next hop alone are relayed.


class ItemArrivals:
    """Relays received items, and keeps the position up to which this node has each master's log.

    Peers in `acking` are owed an acknowledgement.
    """

    def __init__(
        self,
        context: NodeContext,
        router: Router,
        neighbours: Neighbours,
        mapping: Mapping,
        settling: FeedSettling,
        merging: Merging,
        copies: Copies,
        provisional: DirtyReads,
        gates: RefillGates,
    ) -> None:
        self._context = context
        self._router = router
        self._neighbours = neighbours
        self._mapping = mapping
        self._settling = settling
        self._merging = merging
        self._copies = copies
        self._provisional = provisional
        self.acking = settling.acking
        self.whole = provisional.whole  # the contents of an item that are held here
        self._received: dict[bytes, int] = {}  # master -> how far we have its log
        self._furthest: dict[bytes, tuple[int, bytes]] = {}  # master -> (position, peer that sent it)
        self.gates = gates

    def on_item(self, peer: Peer, master: bytes, position: int, after: int, envelope: Envelope) -> None:
        far = envelope.route[-1].stratum + 1 if envelope.route else 1  # from its master
        if far >= HOPS:
            self._context.counters.add_count("too_many_hops")
            return
        self._context.clock.observe_timestamp(envelope)
        arrived = replace(envelope, route=(*envelope.route, self._context.hop(far)))
        stored = StoredEnvelope(arrived, position, master, source=peer.node.uuid, after=after)
        if self._mapping.has_dirty:
            self._provisional.record_delivery(arrived)
        if position and not peer.exchange.upstreams.setdefault(master, Upstream()).record_envelope(stored):
            self._context.counters.add_count("repeated", envelope.count)
            self.acking[peer] = None
            return
        if position > self._received.get(master, 0):
            self._received[master] = position
        elif position and self._goes_round(stored) and self._is_held(stored):
            self._context.counters.add_count("repeated", envelope.count)
            self._settling.settle(peer, stored)
            return
        if not (self.gates.is_used and self._is_kept_back(peer, stored)):
            self._accept(peer, stored)

    def _accept(self, peer: Peer, stored: StoredEnvelope) -> None:
        envelope = stored.envelope
        stored.is_late = self._is_behind(stored)
        if self._mapping.has_several:
            self._copies.keep_values(envelope)
        if self._settling.merges:
            self._merge(peer, stored)
        else:
            self._relay(peer, stored)

    # --- refilled logs ----------------------------------------------------------------------------------

    def relay_page(self, domain: str, master: bytes, page: Sequence[StoredEnvelope], end: int) -> None:
        """Relay envelopes of a refilled log, and the items before position `end` that waited, in order.

        A later subscription receives nothing before `end`, by whichever peer.
        `owed` of an envelope is 0 afterwards if no subscriber here needs it.
        """
        by_position = {stored.position: stored for stored in page}
        for stored in merge(page, self.gates.take_before(domain, end), key=place_of):
            refilled = by_position.get(stored.position)
            if refilled is stored:
                self._relay_refilled(stored)
            elif refilled is not None and _has_all(refilled.envelope, stored.envelope):
                self._settling.on_released(stored)  # the master keeps it until the refill is acknowledged
            else:
                self._accept_waiting(stored)
        self._received[master] = max(end - 1, self._received.get(master, 0))

    def open_gate(self, domain: str) -> None:
        """Relay the items that waited for a refill, which is complete or has ended."""
        gate = self.gates.remove_gate(domain)
        if gate is not None:
            for stored in sorted(gate.waiting, key=place_of):
                self._accept_waiting(stored)
            for call in gate.calls:
                call()

    def _relay_refilled(self, stored: StoredEnvelope) -> None:
        self._context.clock.observe_timestamp(stored.envelope)
        stored.envelope = self._context.relayed(stored.envelope)
        self._received[stored.master] = max(stored.position, self._received.get(stored.master, 0))
        stored.is_late = self._is_behind(stored)
        self._router.relay(stored)

    def _is_kept_back(self, peer: Peer, stored: StoredEnvelope) -> bool:
        """Return whether an item waits for a refill, or is settled because it is stray."""
        if not self.gates.is_stray(stored, self._mapping.named_domains) or self._is_named(peer, stored):
            return self._waits(stored)
        self._context.counters.add_count("repeated", stored.envelope.count)
        if stored.position:
            self._settling.settle(peer, stored)
        return True

    def _is_named(self, peer: Peer, stored: StoredEnvelope) -> bool:
        """Return whether a rule names the peer for a topic of the item, for instance that of a key."""
        domain, name = stored.envelope.domain, peer.node.name
        return any(name in self._mapping.named_nodes("exact", key, domain) for key in stored.envelope.keys)

    def _waits(self, stored: StoredEnvelope) -> bool:
        """Let an item wait for a refill, and return whether it does."""
        if not self.gates.add_item(stored):
            return False
        for domain in self.gates.full_gates():  # the refill is late: these do not wait for it
            self.open_gate(domain)
        return True

    def _accept_waiting(self, stored: StoredEnvelope) -> None:
        peer = self._neighbours.peers.get(stored.source)
        if peer is not None:  # otherwise forgotten
            self._accept(peer, stored)

    def _goes_round(self, stored: StoredEnvelope) -> bool:
        """Return whether a peer relayed an item that this node relays to others in turn.

        Nodes that relay to each other would wait for each other forever if a repeated item waited for its
        first copy here. An item from the master itself may wait, as it is in no loop.
        """
        return stored.master != stored.source and any(self._router.relays.plan(stored.envelope))

    def _is_held(self, stored: StoredEnvelope) -> bool:
        """Return whether another peer sent the whole item before, and the item is still needed here."""
        numbers = set(stored.envelope.number_list(range(stored.envelope.count)))
        for peer in self._neighbours.peers.values():
            upstream = begun.upstreams.get(stored.master) if (begun := peer.begun) is not None else None
            first = upstream.open_at(stored.position) if upstream is not None else None
            if first is None or first is stored:
                continue
            if numbers.issubset(first.envelope.number_list(range(first.envelope.count))):
                return True
        return False

    def received_positions(self) -> dict[bytes, int]:
        """Return the position up to which this node has each master's log."""
        return self._received

    def note_received(self, peer: Peer, master: bytes) -> None:
        upstream = begun.upstreams.get(master) if (begun := peer.begun) is not None else None
        if upstream is not None and upstream.received > self._received.get(master, 0):
            self._received[master] = upstream.received

    def forget_peer(self, peer: Peer) -> None:
        """Forget the log positions that only a forgotten peer has sent."""
        for master in begun.upstreams if (begun := peer.begun) is not None else ():
            self._received.pop(master, None)
            for other in self._neighbours.peers.values():
                self.note_received(other, master)

    def _is_behind(self, stored: StoredEnvelope) -> bool:
        """Return whether another peer has already sent a later position of the same master's log.

        In that case, the peer that sent this item relayed the log before, and its remaining items arrive
        late. So does another part of the same position. The furthest position is recorded.
        """
        place = stored.position or stored.after
        furthest, by = self._furthest.get(stored.master, (0, b""))
        is_part = place == furthest and self._settling.merges and stored.position > 0
        if place >= furthest and not is_part:
            self._furthest[stored.master] = (place, stored.source)
            return False
        return by != stored.source

    def _merge(self, peer: Peer, stored: StoredEnvelope) -> None:
        """Relay the part of an item that no other master has sent before.

        A subscription that moved here, or behind a peer, also gets what it has missed.
        """
        merging = self._merging
        news = merging.select_new(stored)
        missed = self._missed(stored.envelope, news) if news is not None and merging.has_arrivals else {}
        select = partial(_select, stored.envelope.count, news or (), missed) if missed else None
        if news is not None and not news:
            self._context.counters.add_count("repeated", stored.envelope.count)
            if stored.position and not self._goes_round(stored) and merging.waits(stored):
                return  # a resumed log has the first copy
            if select is not None:
                self._relay(peer, stored, select)
            elif stored.position:
                self._settling.settle(peer, stored)
            return
        if news and select is None:
            piece = stored.envelope.cut(news)
            stored = StoredEnvelope(
                piece,
                stored.position,
                stored.master,
                source=stored.source,
                after=stored.after,
                is_late=stored.is_late,
            )
        self._relay(peer, stored, select)
        if stored.owed:
            merging.remember(stored)

    def _missed(self, e: Envelope, news: Collection[int]) -> dict[Sink, set[int]]:
        """Return the repeated messages that subscriptions which moved here, or behind a peer, have missed."""
        found = {
            feed: self._merging.missed_before(feed.arrival, e).difference(news)
            for feed, _ in chain(self._router.clients.plan(e), self._router.relays.plan(e))
            if feed.arrival
        }
        return {feed: missed for feed, missed in found.items() if missed}

    def _relay(self, peer: Peer, stored: StoredEnvelope, select: Select | None = None) -> None:
        self._router.relay(stored, select)
        if stored.position and not stored.owed:
            self._settling.settle(peer, stored)


def _select(
    count: int,
    news: Collection[int],
    missed: dict[Sink, set[int]],
    sink: Sink,
    indices: tuple[int, ...] | None,
) -> tuple[int, ...]:
    """Return which of its messages a sink gets: the new ones, and the missed ones."""
    also = missed.get(sink, ())
    return tuple(i for i in (range(count) if indices is None else indices) if i in news or i in also)


def _has_all(envelope: Envelope, other: Envelope) -> bool:
    """Return whether an envelope has all messages of another one of the same position."""
    return set(other.number_list(range(other.count))).issubset(envelope.number_list(range(envelope.count)))
