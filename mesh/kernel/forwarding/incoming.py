"""Checks envelopes that other nodes forward, and accepts, holds or refuses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mesh.errors import CircularLoop, LocalError, MessageTooLarge, PublishRefused
from mesh.hops import inside, is_foreign
from mesh.kernel.access.authenticator import plain
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.forwarding.from_peer import FromPeer
from mesh.kernel.forwarding.peer_sender import PeerSender
from mesh.kernel.forwarding.provenance import Provenance
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.visit_proofs import proof_of_route
from mesh.kernel.states.cameby import is_way
from mesh.names import PUTS
from mesh.routing.origin import Origin
from mesh.routing.verdict import refusal
from mesh.wire.content_limit import short_parts
from mesh.wire.envelope import (
    FORCE_QUEUING,
    HELD,
    INITIAL,
    MARKS,
    NO_RELAY,
    ONE_SESSION,
    PERSISTENT,
    RESENT,
    Envelope,
)
from mesh.wire.limits import DURABLE, HOPS

# Flags that no envelope of this site may have on its route to a master.
ODD = ~(PERSISTENT | FORCE_QUEUING | NO_RELAY | MARKS | RESENT | HELD)
ODD_FROM_SITES = ODD & ~INITIAL  # likewise for envelopes of other sites
# Reasons to call an envelope forged.
ODD_FIELDS = "with numbers, flags or a domain that nodes do not forward"
NO_ROUTE = "with an impossible route"


class Incoming:
    """Checks envelopes from other nodes, and holds those whose routes are not yet proven.

    `take(envelope, origin)` processes a checked envelope, `of_older` adds marks to envelopes of earlier
    releases, and `named` returns the node of a name, if it is known.
    """

    def __init__(
        self,
        context: NodeContext,
        provenance: Provenance,
        of_older: Callable[[Envelope], Envelope],
        take: Callable[[Envelope, Origin], None],
        sender: PeerSender,
        named: Callable[[str], Peer | None],
    ) -> None:
        self._context = context
        self.provenance = provenance
        self._take = take
        self._of_older = of_older
        self._sender = sender
        self._named = named
        self._are_signed = context.settings.keyring is not None  # node states, which name next hops

    def forwarded(self, peer: Peer, envelopes: list[Envelope]) -> None:
        """Accept, hold or refuse envelopes that a peer forwards to their master."""
        most = self._context.settings.max_content
        if DURABLE not in peer.speaks:
            envelopes = [self._of_older(envelope) for envelope in envelopes]
        for envelope in envelopes:
            error = self._unfit(peer, envelope)
            if error is not None:
                self._refuse(peer, envelope, error)
            elif len(envelope.body) > most:
                for part in self._short(peer, envelope):
                    self._take_or_hold(peer, part)
            else:
                self._take_or_hold(peer, envelope)

    def _take_or_hold(self, peer: Peer, envelope: Envelope) -> None:
        if self._are_signed and self.provenance.has_to_wait(peer, envelope):
            self._hold(peer, envelope)
        else:
            self._take(envelope, FromPeer(self._sender, peer.node.uuid))

    def _hold(self, peer: Peer, envelope: Envelope) -> None:
        """Hold an envelope, and release decided ones if too many bytes of the peer wait.

        Raises: RemoteError if too many still wait.
        """
        self.provenance.hold_envelope(peer, envelope)
        if self.provenance.held.is_crowded(peer):
            self.decide_held()
            self.provenance.held.bound(peer)

    def _short(self, peer: Peer, envelope: Envelope) -> Iterator[Envelope]:
        most = self._context.settings.max_content

        def too_long(part: Envelope) -> None:
            me = self._context.me.name
            what = f"The message is too large: {me} accepts at most {most:,} bytes per message."
            error = MessageTooLarge(
                what, hint="Raise `limits.max_content` of that node, or send the content in parts."
            )
            self._refuse(peer, part, error)

        return short_parts(envelope, most, too_long)

    def _is_visitors(self, envelope: Envelope, nodes: Sequence[str]) -> bool:
        visits, sender = self._context.visits, envelope.sender
        return proof_of_route(visits, self._named, envelope.stream, sender, nodes) is not None

    def decide_held(self) -> None:
        """Accept or refuse the held envelopes whose routes are decided, or that have waited too long."""
        for peer, envelope, error in self.provenance.take_released():
            if error is None:
                self._take(envelope, FromPeer(self._sender, peer.node.uuid))
            else:
                self._refuse(peer, envelope, error)

    def _refuse(self, peer: Peer, envelope: Envelope, error: LocalError) -> None:
        self._context.counters.add_count("refused", envelope.count)
        FromPeer(self._sender, peer.node.uuid).answer(envelope.stream, refusal(envelope, error))

    def _unfit(self, peer: Peer, envelope: Envelope) -> LocalError | None:
        route, me = envelope.route, self._context.me.name
        nodes = [hop.node for hop in inside(route)]
        odd = envelope.flags & ODD  # usually 0
        if envelope.to:
            odd &= ~ONE_SESSION
        is_odd = (
            envelope.numbers
            or (odd and (odd & ODD_FROM_SITES or not is_foreign(envelope.sender)))
            or envelope.domain[:6] == PUTS  # queue messages stay where they were published
        )
        sites = self._context.settings.site.accepting
        sender, hop = envelope.sender, peer.node.name
        is_proven = is_way(sender, nodes, hop, sites) or (
            nodes[-1:] == [hop] and self._is_visitors(envelope, nodes)
        )
        if is_odd or not is_proven:
            return self.provenance.forged(peer, envelope, ODD_FIELDS if is_odd else NO_ROUTE)
        if me in nodes:
            path = " -> ".join((*nodes, me))
            return CircularLoop(f"Routing loop: {path}.", hint="Compare `mesh route` at these nodes.")
        if len(route) >= HOPS:
            path = " -> ".join((*(plain(hop.node) for hop in route), me))  # through other sites, too
            self._context.counters.add_count("too_many_hops")
            what = f"The message passed more than {HOPS} nodes: {path}."
            return PublishRefused(what, hint="Shorten the route: see `mesh route`.", code="TOO_MANY_HOPS")
        return None
