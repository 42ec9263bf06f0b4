"""Checks the routes of forwarded envelopes.

An envelope waits until each node on its route is known to have declared the next one, or time runs out. If a
peer's waiting envelopes exceed the limit, those with a denied route are refused immediately.
"""

from __future__ import annotations

from collections.abc import Callable

from mesh.errors import PublishRefused
from mesh.hops import inside
from mesh.kernel.access.authenticator import plain
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.held import PATIENCE, HeldByPeer
from mesh.kernel.peers.peer import Peer
from mesh.kernel.states.route_proofs import AGAIN, RouteProofs
from mesh.wire.envelope import Envelope

QUESTIONS = 1000  # questions that may wait at the same time


class Provenance:
    """Checks the routes of envelopes and questions in a mesh with keys."""

    def __init__(self, context: NodeContext, vouching: RouteProofs) -> None:
        self.held = HeldByPeer(context.settings.window_bytes, context.settings.window_count)
        self._context = context
        self._vouching = vouching
        self._waiting: list[tuple[float, Peer, tuple[str, ...], Callable[[bool], None]]] = []

    def introduce(self, peer: Peer) -> None:
        """Send our declaration of next hops to a peer that just connected, if the peer is one of them."""
        self._vouching.introduce(peer)

    def has_to_wait(self, peer: Peer, envelope: Envelope) -> bool:
        """Return whether an envelope must wait for a proof of its route, or for an earlier envelope."""
        if self.held and self.held.follows(peer, envelope):
            return True
        return len(inside(envelope.route)) > 1 and not self._is_believed(peer, envelope)

    def _is_believed(self, peer: Peer, envelope: Envelope) -> bool:
        return self._vouching.believes(peer, tuple([hop.node for hop in inside(envelope.route)]))

    def _is_denied(self, peer: Peer, envelope: Envelope) -> bool:
        return self._vouching.denies(peer, tuple([hop.node for hop in inside(envelope.route)]))

    def hold_envelope(self, peer: Peer, envelope: Envelope) -> None:
        """Hold an envelope until its route is proven, or until the envelope is refused."""
        self.held.add(peer, envelope, self._context.clock.now)
        self._request_proofs()

    def judge(self, peer: Peer, route: tuple[str, ...], then: Callable[[bool], None]) -> None:
        """Call `then`, now or later, with whether the route of a question is believed.

        While too many questions wait, `then` is called with False for a route that is not believed yet.
        """
        if self._vouching.believes(peer, route):
            then(True)
        elif len(self._waiting) >= QUESTIONS:
            then(False)
        else:
            self._waiting.append((self._context.clock.now + PATIENCE, peer, route, then))
            self._request_proofs()

    def _request_proofs(self) -> None:
        for peer, nodes in self.held.ways().items():
            self._vouching.request_proofs(peer, nodes)
        for _, peer, route, _ in self._waiting:
            self._vouching.request_proofs(peer, route[:-1])
        if self.held or self._waiting:
            self._context.clock.wake(self._context.clock.now + AGAIN)
            self._context.clock.wake(self.held.deadline())

    def _release_decided(self) -> None:
        waiting, self._waiting = self._waiting, []
        for until, peer, route, then in waiting:
            is_believed = self._vouching.believes(peer, route)
            if is_believed or self._context.clock.now >= until:
                then(is_believed)
            else:
                self._waiting.append((until, peer, route, then))

    def drop_peer(self, peer: Peer) -> None:
        """Drop the envelopes of a peer whose connection ended; the peer resends them on its next one."""
        self.held.drop_peer(peer)

    def take_released(self) -> list[tuple[Peer, Envelope, PublishRefused | None]]:
        """Remove and return the envelopes whose wait is over, each with its error if it is refused.

        The questions whose wait is over are answered.
        """
        if not self.held and not self._waiting:
            return []
        self._release_decided()
        taken = self.held.take_decided(self._context.clock.now, self._is_believed, self._is_denied)
        found = [
            (peer, envelope, None if is_believed else self.forged(peer, envelope))
            for peer, envelope, is_believed in taken
        ]
        self._request_proofs()
        return found

    def forged(self, peer: Peer, envelope: Envelope, why: str = "") -> PublishRefused:
        """Return the refusal of a forged envelope, and report the peer at most every 10 minutes.

        Without `why`, the route was not vouched for in time.
        """
        self._context.counters.add_count("forged")
        path = " -> ".join(hop.node for hop in envelope.route)
        why = why or f"by {path}, where a node does not confirm its next hop"
        what = f"{peer.node.name} forwards a message of {plain(envelope.sender)[:80]!r} {why}"
        if peer.forged.allows(self._context.clock.now):
            self._context.event("refused", f"{what} [FORGED_SENDER]", peer.node, level="warning")
        return PublishRefused(f"{what}.", code="FORGED_SENDER")
