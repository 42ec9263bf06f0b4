"""Periodic work on peers: dials, pings, closes idle connections, and forgets peers."""

from __future__ import annotations

from math import inf

from mesh.discovery.membership import Membership
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.dialler import ROOM, Dialler
from mesh.kernel.peers.directory import Directory
from mesh.kernel.peers.facts import PeerForgotten
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.reach_table import ReachState
from mesh.wire.commands import NODE_CONTROL

FIRST_VIEW = 1.0  # s that a node waits for known nodes at its start
CROWD = 32  # nodes; with more, idle control links are closed
UNUSED = 30.0  # s until an idle control link is closed
SWEEP = 60.0  # s between two sweeps for peers to forget


class Rounds:
    """Runs the periodic work on the peers that may be due for a dial, a ping or a timeout."""

    def __init__(
        self, context: NodeContext, directory: Directory, membership: Membership, dialler: Dialler
    ) -> None:
        self._context = context
        self._directory = directory
        self._membership = membership
        self._dialler = dialler
        self._born = 0.0
        self._swept = 0.0

    def start(self) -> None:
        self._born = self._context.clock.now

    @property
    def is_crowd(self) -> bool:
        return self._membership.count > CROWD

    @property
    def has_waited(self) -> bool:
        """Whether the wait for a first view is over."""
        return self._context.clock.now - self._born >= FIRST_VIEW

    def run_due(self) -> None:
        """Dial and ping the peers that are due, apply the timeouts of their links, and request needed logins.

        In a crowd, idle connections are closed. Once per SWEEP, peers are forgotten.
        """
        now, dialler = self._context.clock.now, self._dialler
        if now - self._swept > SWEEP:
            self._sweep()
        is_crowd = self.is_crowd
        if is_crowd:
            self._close_unused()
        looked_at = self._looked_at()  # without those just closed
        self._dial(looked_at)
        for peer in looked_at:
            if now >= self._next_ping(peer, is_crowd):
                dialler.ping(peer)
            if actions := peer.link.tick(now):
                dialler.apply(peer, actions)
            self.review_login(peer)

    def _looked_at(self) -> list[Peer]:
        """Return the peers to examine in a round; in a crowd only the active ones."""
        active = self._dialler.watchlist.active()
        return active if self.is_crowd else list(dict.fromkeys((*self._directory.living(), *active)))

    def _dial(self, peers: list[Peer]) -> None:
        """Dial the peers that are due.

        If there is no room for all, newly sighted peers come first, then the peers that have been due for
        longest. Peers that are alive need no room.
        """
        room = self._dialler.room
        due = [p for p in peers if p.control is None and p.reach.due <= self._context.clock.now]
        due += self._dialler.watchlist.take_due(self._context.clock.now, room, self.is_crowd)
        for peer in sorted(due, key=lambda p: (p.reach.state is not ReachState.TOLD_OF, p.reach.due)):
            if peer.alive:
                self._dialler.sight(peer)
            elif room > 0:
                room -= self._dialler.sight(peer)

    def _close_unused(self) -> None:
        """Close idle control connections that this node dialed; called only if `is_crowd`."""
        for peer in self._dialler.watchlist.active():
            control = peer.control
            is_idle = peer.data is None and self._context.clock.now - peer.used > UNUSED
            if control is not None and control.dialled and is_idle:
                self._dialler.drop(peer, NODE_CONTROL)

    def _sweep(self) -> None:
        """Forget peers that membership has forgotten, if they are inactive and nothing is owed to them."""
        self._swept = self._context.clock.now
        for uuid, peer in list(self._directory.peers.items()):
            begun = peer.begun
            is_owed = begun is not None and begun.feed.queries
            is_wanted = peer.is_active or peer.reach.state is ReachState.TOLD_OF
            is_needed = is_wanted or is_owed or self._needs_login(peer)
            if not peer.alive and not is_needed and self._membership.member_of(uuid) is None:
                if begun is not None:
                    self._context.counters.accounts.count_closed(begun.feed, is_peer=True)
                self._directory.remove_peer(peer)
                self._dialler.watchlist.remove_peer(peer)
                self._context.facts.publish_fact(PeerForgotten(peer))

    def ping_all(self) -> None:
        """Ping all peers that dialed us, so that the transport notices whose connection ended."""
        for peer in self._directory.peers.values():
            if any(conn is not None and not conn.dialled for conn in peer.conns.values()):
                self._dialler.ping(peer)

    def review_login(self, peer: Peer) -> None:
        if peer.alive and not peer.link.is_wanted and self._needs_login(peer):
            self._dialler.apply(peer, peer.link.wanted(self._context.clock.now))

    def _needs_login(self, peer: Peer) -> bool:
        return any(owes(peer) for owes in self._context.face.login_requirers)

    def _next_ping(self, peer: Peer, is_crowd: bool) -> float:
        if peer.data is None and (peer.control is None or is_crowd):
            return inf
        return peer.pinged + self._context.settings.of_link("ping", peer.node.name)

    def deadline(self, is_settled: bool) -> float:
        """Return the time of the next round."""
        now = self._context.clock.now
        # Other components rely on regular calls.
        times = [self._membership.deadline(), self._dialler.deadline(), now + self._context.settings.ping]
        room = self._dialler.room
        is_crowd = self.is_crowd
        for peer in self._looked_at():
            times.append(self._next_ping(peer, is_crowd))
            reach = peer.reach
            waits = peer.control is None and (reach.untried or not peer.dials[NODE_CONTROL])
            if peer.node.address and waits and reach.state is not ReachState.LEFT:
                has_room = peer.alive or room > 0
                times.append(reach.due if has_room else max(reach.due, now + ROOM))
            link = peer.link.deadline()
            if link is not None:
                times.append(link)
        times.append(max(self._dialler.watchlist.next_dial(is_crowd), now + (0.0 if room > 0 else ROOM)))
        if not is_settled:
            times.append(self._born + FIRST_VIEW)
        return max(now, min(times))
