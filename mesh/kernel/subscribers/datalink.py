"""Data connections between nodes: numbered items, and questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.passing import read as read_gaps
from mesh.kernel.delivery.router import Router
from mesh.kernel.forwarding.forwarder import Forwarder
from mesh.kernel.peers.facts import LoggedIn, LoggedOut, PeerForgotten
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.facts import RulesChanged
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.subscribers.facts import MissedFromSite
from mesh.kernel.subscribers.gap_reports import GapReports
from mesh.kernel.subscribers.item_arrivals import ItemArrivals
from mesh.kernel.subscribers.solicited import Solicited
from mesh.routing.log import position_key
from mesh.routing.pacing import ItemsOf
from mesh.wire.commands import Ack, Hello, ItemHead, Items, Welcome
from mesh.wire.envelope import HELD, UNCONFIRMED, Envelope

BEHIND = 0.2  # s until an acknowledgement is repeated while readers lag
SETTLED = 1000  # masters in one ACK, which must fit into a frame

Greeting = TypeVar("Greeting", Hello, Welcome)
Forged = frozenset[int]  # indices of envelopes


class DataLinks(Component):
    """The data connections to all peers.

    Items of one direction are a numbered stream for each pair of boots; all other commands can be repeated.
    """

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        router: Router,
        neighbours: Neighbours,
        nodes: Nodes,
        demand: InterestSync,
        forwarder: Forwarder,
        gaps: GapReports,
        arrivals: ItemArrivals,
    ) -> None:
        self._context = context
        self._disk = disk
        self._neighbours = neighbours
        self._nodes = nodes
        self.solicited = Solicited(context, demand, neighbours.acquaintances.was_met)
        self._router = router
        self._demand = demand
        self._forwarder = forwarder
        self._gaps = gaps
        self._arrivals = arrivals
        self._whole, self._receive = arrivals.whole, arrivals.on_item
        self.received = arrivals.received_positions
        self._acking = arrivals.acking
        self._replying: dict[Peer, None] = {}  # peers owed a reply after items

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedOut, lambda fact: self._logout(fact.peer)),
            on_fact(LoggedIn, self._login),
            on_fact(MissedFromSite, self._gaps.report_from_site),
            on_fact(RulesChanged, lambda _: self._on_rules()),
            on_fact(PeerForgotten, lambda fact: self._arrivals.forget_peer(fact.peer)),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Ack, self._ack),)

    def tick(self) -> None:
        if self._router.pacing:
            self._tell_that_we_are_behind()

    # --- logging in -------------------------------------------------------------------------------------

    def greeting(self, peer: Peer, said: Greeting) -> Greeting:
        """Return `said`, a HELLO or WELCOME, with the state of the item streams."""
        x = peer.exchange
        seen = 0 if x.lacks else x.inlet_boot
        return replace(said, boot_seen=seen, have=x.inlet.have, next=x.outlet.next)

    def meet(self, peer: Peer, said: Hello | Welcome) -> int:
        """Return the number of the last item that the peer has, by its HELLO or WELCOME `said`.

        If the outbound stream cannot continue, the stream is restarted, and the result is 0: the feed sends
        its items again, except transient ones in flight. If the peer is a new process, or numbers its items
        from 1 again, the inbound stream is restarted.
        """
        is_new = peer.exchange.inlet_boot != peer.node.boot
        if is_new or said.next <= peer.exchange.inlet.have:
            peer.exchange.new_inlet(peer.node.boot)
            self._router.pacing.drop_source(ItemsOf(peer.node.uuid))  # held numbers are of the old stream
        # A new process has also seen our boot when it welcomes us, but has none of our items.
        knows_us = said.boot_seen == self._context.me.boot and not is_new
        if knows_us and peer.exchange.outlet.can_resume(said.have):
            return said.have
        peer.exchange.outlet.restart()
        peer.exchange.feed.restart()
        return 0

    def _on_rules(self) -> None:
        for peer in self._neighbours.peers.values():
            if peer.begun is not None:
                peer.begun.is_way = self._demand.is_way(peer.node.name)

    def _login(self, fact: LoggedIn) -> None:
        peer, conn = fact.peer, fact.conn
        peer.exchange.lacks = False
        peer.exchange.certified.clear()
        peer.exchange.outlet.attach(conn, conn.resume, self._context.out.raw)
        self._context.event("link", f"{peer.node.name}: logged in", peer.node)
        self._context.out.outlets[peer.exchange.outlet] = None
        self.solicited.logged_in(peer)
        peer.exchange.topics = self._demand.interest_of(peer).topics
        peer.exchange.is_way = self._demand.is_way(peer.node.name)
        peer.confirmed = -1
        self._demand.say_all(peer, conn)
        for call in peer.reads.values():
            self._context.out.send(conn, call)
        self._acking[peer] = None  # the last acknowledgements may be lost with the last connection
        peer.lost_at = None
        self._gaps.report_from_peer(peer, (), 0)  # it may have lost messages that we relay
        self._forwarder.linked(peer)

    def _logout(self, peer: Peer) -> None:
        peer.lost_at = self._context.clock.now if peer.lost_at is None else peer.lost_at
        if (begun := peer.begun) is not None:
            if begun.outlet.conn is not None:
                self._context.event("link", f"{peer.node.name}: logged out", peer.node)
            begun.outlet.detach()
            begun.held_replies.clear()  # the peer asks again
            begun.held_versions.clear()
            if begun.feed.connected:
                begun.feed.disconnect(self._context.clock.now)
        self._forwarder.unlinked(peer)

    def requires_login(self, peer: Peer) -> bool:
        """Return whether a data connection is allowed, and needed for queries, questions or messages."""
        if not (self._context.serves and self._nodes.is_usable(peer)):
            return False
        if self._demand.needs(peer) or peer.reads or self._forwarder.needs_login(peer):
            return True
        return (begun := peer.begun) is not None and begun.feed.is_owed

    # --- items ------------------------------------------------------------------------------------------

    def items(
        self, conn: Conn, peer: Peer, command: Items, envelopes: list[Envelope], forged: Forged
    ) -> None:
        """Accept items of a peer.

        `forged` has the indices of forged envelopes, which no client receives.
        """
        x = peer.exchange
        if not x.inlet.accept_number(command.seq):
            self._acking[peer] = None  # a repeat: the other missed our ack
            return
        uuid, topics = peer.node.uuid, x.topics
        for i, (head, envelope) in enumerate(zip(command.heads, envelopes, strict=True)):
            position, master = head.position if envelope.persistent else 0, head.master or uuid
            is_foreign = master != uuid and (not x.is_way or master == self._context.me.uuid)
            if envelope.flags & HELD:
                whole = self._whole(envelope)
                if whole is None:
                    self._lacks_contents(conn, peer)
                    return
                envelope = whole
            if envelope.flags & UNCONFIRMED:  # only this node sets it, for its clients
                envelope = envelope.without(UNCONFIRMED)
            asked = topics.get(envelope.domain)
            if is_foreign or i in forged or not asked or not asked.issuperset(envelope.keys):
                part = self.solicited.admit_item(peer, master, position, envelope, i in forged)
                if part is None:
                    if head.gaps and self._demand.needs(peer):  # its gaps may concern other topics
                        self._told_of_gaps(peer, head)
                    self._arrivals.note_received(peer, master)
                    self._acking[peer] = None
                    continue
                envelope = part
            if head.gaps:
                self._told_of_gaps(peer, head)
            self._receive(peer, master, position, head.position - position, envelope)
        x.taken += len(envelopes)
        state = (command.seq, x.taken)  # cumulative: held back while a live subscriber here is behind
        self._router.pacing.release_after(ItemsOf(peer.node.uuid), (), lambda: self._may_ack(peer, state))

    def _lacks_contents(self, conn: Conn, peer: Peer) -> None:
        """Make the peer resend all items in flight in full, as the contents of one item are missing here."""
        peer.exchange.new_inlet(peer.exchange.inlet_boot)
        peer.exchange.lacks = True
        self._context.out.log_line(
            "info",
            f"{peer.node.name} sent a message without contents that this node does not hold; it resends all",
        )
        self._context.end_connection(conn)

    def _told_of_gaps(self, peer: Peer, head: ItemHead) -> None:
        """Pass on the gaps that a peer reports before an item, and empty the cache of values."""
        for path, messages in read_gaps(head.gaps):
            self._gaps.report_from_peer(peer, path, messages)
        self._router.cache.empty()

    def _may_ack(self, peer: Peer, state: tuple[int, int]) -> None:
        x = peer.exchange
        if state[0] <= x.inlet.have:  # else it is of an earlier item stream
            x.ackable = max(x.ackable, state)
        self._acking[peer] = None

    def flush(self) -> None:
        """Send the gathered acknowledgements, and the replies that are due."""
        if self._replying:
            for peer in [p for p in self._replying if self._reply_held(p)]:
                del self._replying[peer]
        if self._acking:
            self._send_acks()

    def _send_acks(self) -> None:
        for peer in self._acking:
            x = peer.exchange
            x.acked = self._context.clock.now
            have, taken = x.ackable
            settled = tuple((master, u.settled) for master, u in x.upstreams.items())
            if x.refused or len(settled) > SETTLED:
                *others, settled = _parts((*settled, *x.refused.items()))
                for part in others:
                    self._context.out.send(peer.data, Ack(have, ((0, taken),), part))
            self._context.out.send(peer.data, Ack(have, ((0, taken),), settled))
        self._acking.clear()

    def _tell_that_we_are_behind(self) -> None:
        """Repeat acknowledgements to peers whose items wait for slow readers here.

        Such a peer would otherwise conclude from the missing acknowledgements that this node has stopped.
        """
        for source in self._router.pacing.sources():
            peer = self._neighbours.peers.get(source.uuid) if isinstance(source, ItemsOf) else None
            if peer is not None and self._context.clock.now - peer.exchange.acked >= BEHIND:
                self._acking[peer] = None

    def _ack(self, conn: Conn, peer: Peer, command: Ack, _: list[Envelope]) -> None:
        outlet, feed = peer.exchange.outlet, peer.exchange.feed
        outlet.on_acked(command.have)
        for _number, total in command.taken:
            feed.on_processed(total, self._context.clock.now)
        for master, position in command.settled:
            if feed.settle_master(master, position):
                self._disk.later("position", feed.key, position_key(feed, feed.position))
        self._context.out.outlets[outlet] = None

    # --- questions --------------------------------------------------------------------------------------

    def reply_after(self, peer: Peer, send: Callable[[], None]) -> None:
        """Call `send` after the items queued for the peer, as values must not overtake older messages."""
        peer.exchange.held_replies.append((peer.exchange.feed.line, send))
        self._replying[peer] = None

    def _reply_held(self, peer: Peer) -> bool:
        """Send replies that are due, and return whether all were sent."""
        held = peer.exchange.held_replies
        while held and held[0][0] <= peer.exchange.outlet.departed:
            held.popleft()[1]()
        return not held


def _parts(settled: tuple[tuple[bytes, int], ...]) -> list[tuple[tuple[bytes, int], ...]]:
    return [settled[at : at + SETTLED] for at in range(0, len(settled), SETTLED)]
