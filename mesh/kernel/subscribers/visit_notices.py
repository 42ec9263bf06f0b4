"""Notices to other nodes about the sessions that visit this one: MOVED, or `resume` behind a relay."""

# Law: a notice names the open subscriptions of a session if this process knows all of them: those with a feed
#      here, and those that the client repeats next. Masters end the pins of others, so no pin is left when a
#      subscription ends while its log is pinned, or while the session is between two nodes. If none is open,
#      a former node closes the session. A master behind a relay is asked again until it answers.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from functools import partial

from mesh.flow.bounded import Bounded
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.peer_calls import PeerReply
from mesh.kernel.subscribers.facts import SubscriptionsKnown
from mesh.kernel.subscribers.relayed_calls import RelayedCalls
from mesh.kernel.subscribers.resume_source import KEPT
from mesh.kernel.subscribers.session import Session
from mesh.wire.calls import AskResume
from mesh.wire.commands import Certificate, Moved
from mesh.wire.replies import Resumed

MOST = 10_000  # sessions whose subscriptions are known
WITHIN = 5.0  # s for the reply of a master behind a relay
AGAIN = 10.0  # s until masters behind a relay that have not answered are asked again


class VisitNotices:
    """The notices of one node. `expected(stream)` returns the subscriptions that a client repeats next."""

    def __init__(
        self,
        context: NodeContext,
        neighbours: Neighbours,
        calls: RelayedCalls,
        sessions: Mapping[bytes, Session],
        expected: Callable[[bytes], Set[int]],
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._calls = calls
        self._sessions = sessions
        self._expected = expected
        self._known = Bounded[bytes, None](MOST)  # streams whose subscriptions are known; also closed ones
        # By master behind a relay and stream: the time at which an unused pin ends without a notice.
        self._unanswered = Bounded[tuple[bytes, bytes], float](MOST)
        self._again_at = 0.0

    def send_arrival(self, certificate: Certificate, is_known: bool) -> None:
        """Notify all peers of a visit; `is_known`: the client has named its subscriptions."""
        if is_known:
            self._known.keep(certificate.stream, None)
        self._send(certificate, self._neighbours.peers)

    def send_close(self, stream: bytes) -> None:
        """Notify all peers that a session has ended here, if an earlier process of this node took it over."""
        certificate = self._context.visits.find(stream)
        if certificate is not None and stream not in self._known:
            self.send_arrival(certificate, is_known=True)
            self._ask_relayed(certificate, self._neighbours.peers)

    def send_end(self, stream: bytes, masters: Collection[bytes]) -> None:
        """Notify masters that a subscription of a session has ended, unless the session is elsewhere."""
        certificate = self._context.visits.find(stream)
        if certificate is not None and certificate.node == self._context.me.uuid:
            self._send(certificate, masters)
            self._ask_relayed(certificate, masters)

    def send_all(self, conn: Conn) -> None:
        """Notify a node that has logged in of all sessions that are or were here."""
        for certificate in self._context.visits.guests(self._context.me.uuid):
            self._context.out.send(conn, Moved(certificate, self._open(certificate)))

    def on_moved(self, peer: Peer, notice: Moved) -> bool:
        """Publish the open subscriptions of a session if its node has named them. Return whether none is."""
        certificate, found = notice.certificate, notice.subscriptions
        is_its_node = certificate.node == peer.node.uuid
        if is_its_node and found is not None and self._context.visits.find(certificate.stream) == certificate:
            self._context.facts.publish_fact(SubscriptionsKnown(certificate, found))
            return not found
        return False

    def forget_subscriptions(self, stream: bytes) -> None:
        """Forget the subscriptions of a session that is at another node."""
        self._known.pop(stream, None)

    # --- masters behind a relay -------------------------------------------------------------------------

    def _ask_relayed(self, certificate: Certificate, uuids: Iterable[bytes]) -> None:
        """Send the open subscriptions of a session to those of the nodes that are reached through others."""
        for uuid in list(filter(self._calls.is_relayed, uuids)):
            self._unanswered.keep((uuid, certificate.stream), self._context.clock.now + KEPT)
            self._ask(uuid, certificate)

    def _ask(self, uuid: bytes, certificate: Certificate) -> None:
        ask = AskResume(certificate=certificate, subscriptions=self._open(certificate))
        self._calls.ask(uuid, ask, Resumed, partial(self._on_reply, uuid, ask), WITHIN)

    def _on_reply(self, uuid: bytes, ask: AskResume, reply: PeerReply[Resumed] | None) -> None:
        if reply is not None and ask.subscriptions == self._open(ask.certificate):
            self._unanswered.pop((uuid, ask.certificate.stream), None)

    def repeat_questions(self) -> None:
        """Ask masters again that have not answered, while they may keep a pin for a session of this node."""
        now = self._context.clock.now
        if not self._unanswered or now < self._again_at:
            return
        self._again_at = now + AGAIN
        for (uuid, stream), until in list(self._unanswered.items()):
            certificate = self._context.visits.find(stream)
            is_here = certificate is not None and certificate.node == self._context.me.uuid
            if certificate is None or not is_here or now > until or not self._calls.is_relayed(uuid):
                del self._unanswered[uuid, stream]
            else:
                self._ask(uuid, certificate)

    # --- internals --------------------------------------------------------------------------------------

    def _send(self, certificate: Certificate, uuids: Iterable[bytes]) -> None:
        found = self._open(certificate)
        for uuid in uuids:
            if (peer := self._neighbours.peers.get(uuid)) is not None:
                self._context.out.send(peer.data, Moved(certificate, found))
        if found is not None:  # this node is a master, too
            self._context.facts.publish_fact(SubscriptionsKnown(certificate, found))

    def _open(self, certificate: Certificate) -> tuple[int, ...] | None:
        """Return the open subscriptions of a session that is here, or `None` if they are not known."""
        stream = certificate.stream
        if stream not in self._known or self._context.visits.find(stream) != certificate:
            return None
        session = self._sessions.get(stream)
        feeds = session.feeds if session is not None else {}
        return tuple(sorted({*self._expected(stream), *(n for n, feed in feeds.items() if feed.queries)}))
