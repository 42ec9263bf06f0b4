"""Passes news about other nodes to membership, and applies its results to the peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mesh.discovery.member import Left, NodeLife
from mesh.discovery.member_transitions import Results
from mesh.discovery.membership import (
    IdentityDuplicated,
    MemberEvent,
    Membership,
    NameClash,
    Sighted,
    SwimTiming,
)
from mesh.kernel.context.component import Beginning, Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import ConnEnded, Hearing, InboundClosed, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.changes import Changes
from mesh.kernel.peers.dialler import DISCONNECT, REPLACED, Dialler
from mesh.kernel.peers.directory import Directory
from mesh.kernel.peers.facts import Lived, PeerJoined, PeerLoggedOff
from mesh.kernel.peers.introductions import as_introduction, as_node
from mesh.kernel.peers.liveness import Liveness
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.peer_address_book import PeerAddressBook
from mesh.kernel.peers.reach import HEAD_START
from mesh.kernel.peers.rounds import Rounds
from mesh.routing.feed import Feed
from mesh.wire import commands as c
from mesh.wire.commands import Bye, Introduction, Peers

TURN = 0.05  # s for each node of a crowd, to spread their dials
LAST_TURN = 5.0  # s, the most for all of them
PARTING = 2.0  # s that earlier messages may take after a BYE


class Neighbours(Component):
    """Component for all other nodes, as members and as peers.

    `made` builds a peer; `doubled` is called when others report this node at another address.
    """

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        dialler: Dialler,
        peers: dict[bytes, Peer],
        made: Callable[[Introduction], Peer],
        doubled: Callable[[Introduction], None],
    ) -> None:
        self.peers = peers
        timing = SwimTiming(period=context.settings.probe)
        self.membership = Membership(as_node(context.me), context.jitter, timing)
        directory = self.directory = Directory(peers, made)
        self.of, self.named = directory.peer_of, directory.peer_named  # looked up for each envelope
        self.rounds = Rounds(context, directory, self.membership, dialler)
        self.acquaintances = PeerAddressBook(
            context, disk, dialler, directory.is_alive, directory.is_occupied
        )
        self.liveness = Liveness(context, self.membership, self.happened, peers.get, dialler)
        self._context = context
        self._dialler = dialler
        self._changes = Changes(context, dialler, self._announce)
        self._doubled = doubled
        self._parting: dict[bytes, tuple[Left, float]] = {}  # deferred goodbyes, until when

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(PeerJoined, lambda fact: self.review_login(fact.peer)),
            on_fact(ConnEnded, self._on_conn_ended),
            on_fact(InboundClosed, lambda _: self.rounds.ping_all()),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        live = self.liveness
        return (
            on_command(c.Peers, lambda conn, peer, command, _: self.introduced(command.nodes, peer)),
            on_command(c.Bye, lambda conn, peer, command, _: self._goodbye(conn, peer, command)),
            on_command(c.Pong, lambda conn, peer, command, _: self._dialler.pong(peer, command)),
            on_command(c.Probe, lambda conn, peer, command, _: live.probe(conn, peer, command)),
            on_command(c.ProbeFor, lambda conn, peer, command, _: live.probe_for(peer, command)),
            on_command(c.Probed, lambda conn, peer, command, _: live.probed(peer, command)),
        )

    def figures(self) -> dict[str, int | float]:
        return {
            "upstream_queries": sum(len(feed.queries) for feed in self.feeds()),
            "data_links": sum(peer.data is not None for peer in self.peers.values()),
            "control_links": sum(peer.control is not None for peer in self.peers.values()),
            "old_news": self.membership.old_news,
            "no_room": self.membership.no_room,
            "nodes_alive": self.membership.count,
            "nodes_suspect": sum(peer.suspect for peer in self.peers.values()),
            "nodes_away": sum(not peer.alive for peer in self.peers.values()),
        }

    def feeds(self) -> Iterator[Feed]:
        return self.directory.feeds()

    def holds(self) -> int:
        return sum(feed.waiting_bytes for feed in self.directory.feeds())

    def start(self, beginning: Beginning) -> None:
        self.rounds.start()

    def tick(self) -> None:
        for conn in self._dialler.unfinished():
            self._context.out.hang_up(conn)
            self.on_conn_ended(conn)
        self.happened(self.membership.tick(self._context.clock.now))
        self._part_late()
        self.rounds.run_due()
        self._context.clock.wake(self.rounds.deadline(self.is_settled()))

    # --- the current view -------------------------------------------------------------------------------

    def living_peers(self) -> list[Peer]:
        """Return the peers that can be asked: alive, and not refused by either side."""
        return self.directory.askable()

    @property
    def is_crowd(self) -> bool:
        """Whether there are too many nodes for a connection to each."""
        return self.rounds.is_crowd

    def is_settled(self) -> bool:
        """Return whether all known nodes have answered, or the wait for a first view is over."""
        if self.rounds.has_waited:
            return True
        hearsay = any(member.state is NodeLife.SEEN for member in self.membership.all())
        return self.acquaintances.are_heard and not hearsay

    def review_login(self, peer: Peer) -> None:
        self.rounds.review_login(peer)

    def others(self, than: bytes) -> tuple[Introduction, ...]:
        """Return the nodes to introduce to a newcomer; none in a crowd, where rumors do that."""
        if self.is_crowd:
            return ()
        return tuple(p.node for p in self.directory.living() if p.node.uuid != than)

    # --- news -------------------------------------------------------------------------------------------

    def on_conn_ended(self, conn: Conn) -> None:
        peer = self.of(conn)
        was_control = peer is not None and peer.control is conn
        self._dialler.on_conn_ended(conn, peer)
        if peer is not None and peer.data is None:
            self._part(peer.node.uuid)
        if was_control and peer is not None and peer.alive:
            self.liveness.disconnected(peer)

    def _on_conn_ended(self, fact: ConnEnded) -> None:
        if fact.conn.role != c.CLIENT:
            self.on_conn_ended(fact.conn)

    def on_sign_of_life(self, peer: Peer) -> None:
        """Count any command from a peer as a sign of life."""
        happened = self.membership.on_message(peer.node.uuid, self._context.clock.now)
        if happened:
            self.happened(happened)

    def introduced(self, nodes: tuple[Introduction, ...], by: Peer) -> None:
        """Record the other nodes that a peer introduces."""
        for node in nodes:
            if node.uuid != self._context.me.uuid:
                self.sighted(node, "gossip", by.node.uuid)

    def sighted(self, node: Introduction, via: str, by: bytes = b"") -> None:
        """Report a node to membership; `via` is how the node was found."""
        self.happened(self.membership.sight(as_node(node), via, self._context.clock.now, by))

    def announce_addresses(self) -> None:
        self.happened(self.membership.set_addresses(as_node(self._context.me), self._context.clock.now))

    def _goodbye(self, conn: Conn, peer: Peer, command: Bye) -> None:
        """Handle a BYE, of a node or of only one of its connections."""
        self._context.out.hang_up(conn)
        self._dialler.on_conn_ended(conn, peer)
        if command.reason != REPLACED:
            self.happened(self.membership.on_goodbye(peer.node.uuid, peer.node.boot, self._context.clock.now))
            if peer.data is None:
                if command.reason == DISCONNECT:
                    self._context.facts.publish_fact(PeerLoggedOff(peer))
                self._part(peer.node.uuid)

    def _put_off(self, left: Left, peer: Peer) -> None:
        """Defer a goodbye, as earlier messages may still arrive on another connection."""
        until = self._context.clock.now + PARTING
        self._parting[peer.node.uuid] = left, until
        peer.reach.delay_dial(until)
        self._context.clock.wake(until)

    def _part(self, uuid: bytes) -> None:
        """Carry out the deferred goodbye of a node, if there is one."""
        left, _ = self._parting.pop(uuid, (None, 0.0))
        if left is not None and uuid in self.peers:
            self._react(left, self.peers[uuid], as_introduction(left.member.node))

    def _part_late(self) -> None:
        for uuid in [uuid for uuid, (_, until) in self._parting.items() if until <= self._context.clock.now]:
            self._part(uuid)
        for _, until in self._parting.values():
            self._context.clock.wake(until)

    # --- reactions --------------------------------------------------------------------------------------

    def happened(self, happened: Results) -> None:
        for event in happened:
            if isinstance(event, MemberEvent):
                self._event(event)
            else:
                self.liveness.carry_out(event)

    def _event(self, event: MemberEvent) -> None:
        if isinstance(event, NameClash):
            return
        node = as_introduction(event.member.node)
        if isinstance(event, IdentityDuplicated):
            self._doubled(node)
            return
        peer = self.peers.get(node.uuid) or self._newcomer(node)
        self._part(node.uuid)  # any other event ends the wait
        if isinstance(event, Left) and peer.data is not None:
            self._put_off(event, peer)
        else:
            self._react(event, peer, node)

    def _react(self, event: Sighted | Lived, peer: Peer, node: Introduction) -> None:
        known = peer.node.boot
        if node.key or not peer.node.key:
            peer.node = node
        self.directory.drop_caches()
        self._changes.react(peer, event, known)
        if isinstance(event, Sighted) and self.is_crowd:
            # All nodes may have sighted it at the same time: a few dial it, and rumors inform the others.
            turn = self._context.jitter() * min(self.membership.count * TURN, LAST_TURN)
            peer.reach.delay_dial(self._context.clock.now + turn)
        self.directory.drop_caches()

    def _newcomer(self, node: Introduction) -> Peer:
        """Add a peer; of two nodes, the one with the lower uuid dials first."""
        peer = self.directory.add(node)
        peer.reach.delay_dial(
            self._context.clock.now + (0.0 if self._context.me.uuid < node.uuid else HEAD_START)
        )
        self._context.clock.wake(peer.reach.due)
        return peer

    def _announce(self, newcomer: Peer) -> None:
        """Introduce a newcomer to the others immediately; in a crowd rumors do that."""
        for peer in self.peers.values() if not self.is_crowd else ():
            if peer is not newcomer:
                self._context.out.send(peer.control, Peers((newcomer.node,)))
