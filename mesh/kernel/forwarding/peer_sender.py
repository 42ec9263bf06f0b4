"""Sends forwarded envelopes and answers to other nodes, in few messages."""

from __future__ import annotations

from collections.abc import Callable

from mesh.hops import inside
from mesh.kernel.context.component import Component
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.visit_proofs import proof_of_route
from mesh.remote_names import WAY, is_site
from mesh.routing.forward_table import ForwardTable
from mesh.routing.pending_forward import PendingForward
from mesh.wire.commands import Forward, Moved, Outcome, Outcomes
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames
from mesh.wire.limits import DURABLE, ENVELOPE_BYTES, ENVELOPES_A_MESSAGE, FRAMES, STAYS

OUTCOMES = 256  # answers in one message
NEEDED = frozenset((DURABLE, STAYS))  # features of nodes that know all flags


class PeerSender(Component):
    """Gathers envelopes and answers for each node, and sends them after each event."""

    def __init__(
        self,
        context: NodeContext,
        onward: ForwardTable,
        neighbours: Neighbours,
        may_leave: Callable[[PendingForward], bool],
        marked: Callable[[Peer, PendingForward], Envelope],
    ) -> None:
        """`may_leave` returns whether an entry may be sent now.

        `marked` returns an entry's envelope as it is sent to a peer.
        """
        self._context = context
        self._onward = onward
        self._neighbours = neighbours
        self._may_leave = may_leave
        self._marked = marked
        self._due: dict[str, None] = {}  # nodes whose entries may be sent
        self._answers: dict[bytes, list[Outcome]] = {}  # by uuid of the receiver

    def peer_of(self, uuid: bytes) -> Peer | None:
        return self._neighbours.peers.get(uuid)

    def schedule_send(self, node: str) -> None:
        """Schedule a send of the entries for a node."""
        self._due[node] = None

    def add_answer(self, uuid: bytes, outcome: Outcome) -> None:
        """Queue an answer for the peer that forwarded an envelope."""
        self._answers.setdefault(uuid, []).append(outcome)

    def flush(self) -> None:
        """Send everything for which there is a connection.

        Entries for other nodes stay queued. Answers for other peers are dropped, as these peers resend.
        """
        while self._due:
            node, _ = self._due.popitem()
            peer = self._neighbours.named(node)
            if peer is not None and peer.data is not None and peer.data.is_open:
                self._send(peer)
            elif is_site(node):
                self._context.face.next_hops[WAY].ship(node)
        if self._answers:
            self._send_answers()

    def _send_answers(self) -> None:
        for uuid, outcomes in self._answers.items():
            peer = self._neighbours.peers.get(uuid)
            for at in range(0, len(outcomes), OUTCOMES) if peer is not None else ():
                self._context.out.send(peer.data, Outcomes(tuple(outcomes[at : at + OUTCOMES])))  # type: ignore[union-attr]
        self._answers.clear()

    def _send(self, peer: Peer) -> None:
        batch: list[Envelope] = []
        size = frames = 0
        is_older = not NEEDED.issubset(peer.speaks)
        hop, process = peer.node.name, (peer.node.uuid, peer.node.boot)
        for entry in self._onward.next_to_send(hop, self._may_leave):
            if entry.sent_to != process:
                entry.mark_sent_to(process)
            is_marked = entry.first or entry.former or entry.is_given or is_older
            envelope = self._marked(peer, entry) if is_marked else entry.envelope
            for first, last in entry.lacking[hop]:
                part = envelope.part(first, last)
                needs = 1 + body_frames(part)
                if batch and (
                    len(batch) >= ENVELOPES_A_MESSAGE or size >= ENVELOPE_BYTES or frames + needs >= FRAMES
                ):
                    self._ship(peer, batch)
                    batch, size, frames = [], 0, 0
                batch.append(part)
                size, frames = size + len(part.body), frames + needs
        if batch:
            self._ship(peer, batch)

    def _ship(self, peer: Peer, batch: list[Envelope]) -> None:
        if len(self._context.visits):
            self._certify(peer, batch)
        messages = sum(envelope.count for envelope in batch)
        context = self._context
        context.counters.add_count("forwarded", messages)
        context.counters.tally.counters_of(peer.node.name).sent += messages
        context.out.send(peer.data, Forward(tuple(map(body_frames, batch))), batch)

    def _certify(self, peer: Peer, batch: list[Envelope]) -> None:
        """Send the certificates that let the messages of visitors of other nodes have their routes."""
        certified = peer.exchange.certified
        for envelope in batch:
            nodes = [hop.node for hop in inside(envelope.route)]
            if len(nodes) < 2:  # this node's own clients: their certificates were sent when they came
                continue
            visits, named = self._context.visits, self._neighbours.named
            proof = proof_of_route(visits, named, envelope.stream, envelope.sender, nodes)
            if proof is not None and (proof.stream, proof.node) not in certified:
                certified.keep((proof.stream, proof.node), None)
                self._context.out.send(peer.data, Moved(proof))
