"""Connects membership with the wire: sends its probes and rumors, and passes received ones to it."""

from __future__ import annotations

from collections.abc import Callable

from mesh.discovery.member_transitions import Results
from mesh.discovery.membership import (
    DialProbe,
    DirectProbe,
    DiscoveryRequest,
    IndirectProbe,
    Inform,
    Lives,
    Membership,
    Spread,
)
from mesh.kernel.context import effects
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.dialler import Dialler
from mesh.kernel.peers.introductions import as_introduction, as_node, as_rumours, to_wire
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.reach import ReachQuestion
from mesh.wire import commands as c

FEW = 3  # peers that receive fresh rumors


class Liveness:
    """Sends the probes and rumors of membership to peers, and passes received ones to it.

    `happened` handles the results of membership. `peer` returns the peer of a uuid.
    """

    def __init__(
        self,
        context: NodeContext,
        membership: Membership,
        happened: Callable[[Results], None],
        peer: Callable[[bytes], Peer | None],
        dialler: Dialler,
    ) -> None:
        self._context = context
        self._membership = membership
        self._happened = happened
        self._peer = peer
        self._dialler = dialler

    # --- requests of membership -------------------------------------------------------------------------

    def carry_out(self, request: DiscoveryRequest) -> None:
        """Carry out a request of membership.

        A probe waits for a control connection if there is none. Other messages to a peer without a connection
        are dropped.
        """
        match request:
            case DirectProbe(to, number, uuid, boot, rumours):
                self.send_question(self._peer(to), c.Probe(number, uuid, boot, to_wire(rumours)))
            case IndirectProbe(to, number, node, rumours):
                self.send_question(
                    self._peer(to), c.ProbeFor(number, as_introduction(node), to_wire(rumours))
                )
            case Lives(to, number, lives, rumours):
                self._send_to_peer(self._peer(to), c.Probed(number, lives, to_wire(rumours)))
            case Inform(to, rumours):
                self._send_to_peer(self._peer(to), c.Rumours(to_wire(rumours)))
            case Spread(rumours):
                for conn in self._some():
                    self._context.out.send(conn, c.Rumours(to_wire(rumours)))
            case DialProbe(node):
                peer = self._peer(node.uuid)
                address = (peer.reached if peer is not None else "") or node.address
                if address:
                    self._context.out.emit(effects.ProbeAddress(node.uuid, address))

    def send_question(self, peer: Peer | None, command: ReachQuestion) -> None:
        """Send a question on the control connection, or keep it until there is one.

        A later question replaces a kept one. None as `peer` sends nothing.
        """
        if peer is None:
            return
        peer.used = self._context.clock.now
        if peer.control is not None:
            self._context.out.send(peer.control, command)
            return
        peer.reach.set_question(command, self._context.clock.now)
        self._dialler.watchlist.add(peer)
        self._context.clock.wake(self._context.clock.now)

    def _send_to_peer(self, peer: Peer | None, command: c.Command) -> None:
        if peer is not None:
            peer.used = self._context.clock.now
            self._context.out.send(peer.control or peer.data, command)

    def _some(self) -> list[Conn]:
        there = [peer.control for peer in self._dialler.watchlist.active() if peer.control is not None]
        return [there.pop(int(self._context.jitter() * len(there))) for _ in range(min(FEW, len(there)))]

    def send_waiting(self, peer: Peer) -> None:
        """Send the question that waited for this control connection, if there is one."""
        command = peer.reach.answerable()
        if command is not None:
            self._context.out.send(peer.control, command)

    # --- commands of peers ------------------------------------------------------------------------------

    def probe(self, conn: Conn, peer: Peer, p: c.Probe) -> None:
        peer.used = self._context.clock.now
        for answer in self._handle_results(
            self._membership.probe(
                peer.node.uuid, p.number, p.uuid, p.boot, as_rumours(p.rumours), self._context.clock.now
            )
        ):
            self._context.out.send(conn, answer)  # on the connection of the probe

    def _handle_results(self, happened: Results) -> list[c.Probed]:
        """Handle all results except answers to probes, and return the answers."""
        answers = [h for h in happened if isinstance(h, Lives)]
        self._happened([h for h in happened if not isinstance(h, Lives)])
        return [c.Probed(a.number, a.lives, to_wire(a.rumours)) for a in answers]

    def probe_for(self, peer: Peer, p: c.ProbeFor) -> None:
        peer.used = self._context.clock.now
        rumours = as_rumours(p.rumours)
        self._happened(
            self._membership.probe_for(
                peer.node.uuid, p.number, as_node(p.node), rumours, self._context.clock.now
            )
        )

    def probed(self, peer: Peer, p: c.Probed) -> None:
        now, rumours = self._context.clock.now, as_rumours(p.rumours)
        self._happened(self._membership.answered(peer.node.uuid, p.number, p.lives, rumours, now))

    def rumours(self, peer: Peer, r: c.Rumours, is_answer: bool) -> None:
        rumours, now = as_rumours(r.rumours), self._context.clock.now
        self._happened(self._membership.rumoured(peer.node.uuid, rumours, now, is_answer))

    def disconnected(self, peer: Peer) -> None:
        self._happened(self._membership.probe_disconnected(peer.node.uuid, self._context.clock.now))

    def knocked(self, uuid: bytes, refused: bool) -> None:
        self._happened(self._membership.on_dial_probe(uuid, refused, self._context.clock.now))
