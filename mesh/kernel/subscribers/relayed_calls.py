"""Questions about sessions that moved, also to nodes that are reached through other nodes only."""

# Law 1: a node that must not be linked is asked through the next hop to it; others are asked at their logins.
# Law 2: a relay checks the certificate of the first asker. A question passes at most HOPS nodes, each once.
# Law 3: a question that a relay passes on counts only if the node that asked first is not linked.

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace

from mesh.errors import LocalError
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.facts import RouteLearned
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, PeerReply, Replies
from mesh.kernel.subscribers.certificates import check_certificate
from mesh.kernel.subscribers.facts import SessionBehind
from mesh.routing.visits import Standing
from mesh.wire.calls import AskCollect, AskOfVisit
from mesh.wire.limits import HOPS, VISITS
from mesh.wire.replies import R

WITHIN = 10.0  # s for the reply to a question that is passed on, at most
# Refusals by nodes on the route, which may be other nodes later.
OF_ROUTE = ("FORGED_VISIT", "UNKNOWN_NODE", "UNKNOWN_VERB")

V = TypeVar("V", bound=AskOfVisit)
OnHop = Callable[[Peer | None], None]
OnReply = Callable[[PeerReply[R] | None], None]  # None: no reply in time, or no route


class RelayedCalls(Component):
    """Component that asks nodes about sessions that moved, and passes such questions on."""

    def __init__(
        self, context: NodeContext, neighbours: Neighbours, nodes: Nodes, questions: PeerCalls
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._nodes = nodes
        self._questions = questions
        self._waiting: list[tuple[str, OnHop]] = []  # by node: for the answers of other nodes

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(RouteLearned, lambda _: self._on_route()),)

    # --- routes -----------------------------------------------------------------------------------------

    def _find_hop(self, node: str, then: OnHop) -> None:
        """Call `then` with the next hop to a node, or None, when other nodes have answered if necessary."""
        hop = self._nodes.next_hop(node)
        if hop is None and self._nodes.ask_way(node):
            self._waiting.append((node, then))
        else:
            then(hop)

    def _on_route(self) -> None:
        waiting, self._waiting = self._waiting, []
        for node, then in waiting:
            self._find_hop(node, then)

    # --- questions of this node -------------------------------------------------------------------------

    def is_relayed(self, uuid: bytes) -> bool:
        """Return whether a node is asked through others, because it is not linked and must not be."""
        peer = self._neighbours.peers.get(uuid)
        if peer is None:
            return not self._nodes.is_open
        return peer.data is None and not self._nodes.is_named(peer.node.name)

    def can_ask(self, uuid: bytes) -> bool:
        """Return whether a node is linked, or asked through others; otherwise, let it log in if known."""
        peer = self._neighbours.peers.get(uuid)
        if peer is not None and peer.data is None:
            self._neighbours.review_login(peer)
        return (peer is not None and peer.data is not None) or self.is_relayed(uuid)

    def ask(self, uuid: bytes, ask: AskOfVisit, says: type[R], then: OnReply[R], within: float) -> bool:
        """Ask a node, and call `then` with its reply; return False if the node is to be asked at its login.

        `then` may be called at once.
        """
        if not self.can_ask(uuid):
            return False
        peer = self._neighbours.peers.get(uuid)
        if peer is None or peer.data is None:
            self._ask_relay(uuid, ask, says, then, within)
        elif VISITS not in peer.speaks:
            then(PeerReply(says(), code="UNKNOWN_VERB"))
        else:
            came = partial(self._on_reply, uuid, then)
            self._questions.ask_all([peer], ask, says, came, within, is_patient=True)
        return True

    def _ask_relay(
        self, uuid: bytes, ask: AskOfVisit, says: type[R], then: OnReply[R], within: float
    ) -> None:
        further = replace(ask, target=uuid)

        def found(hop: Peer | None) -> None:
            if hop is None:
                then(None)
            else:
                came = partial(self._on_relayed, hop.node.uuid, then)
                self._questions.ask_all([hop], further, says, came, within, is_patient=True)

        if (peer := self._neighbours.peers.get(uuid)) is None:
            then(None)
        else:
            self._find_hop(peer.node.name, found)

    def _on_reply(self, uuid: bytes, then: OnReply[R], replies: Replies[R], missing: list[str]) -> None:
        then(replies.get(uuid))

    def _on_relayed(self, hop: bytes, then: OnReply[R], replies: Replies[R], missing: list[str]) -> None:
        reply = replies.get(hop)
        then(None if reply is None or reply.code in OF_ROUTE else reply)

    # --- questions of other nodes -----------------------------------------------------------------------

    def answer(self, asks: type[V], says: type[R], then: Callable[[IncomingCall[V], bytes], None]) -> Verb:
        """Return the verb for a question that `then` answers if this node is its target.

        `then` is also called with the id of the node that asked first. It may raise LocalError.
        """
        return answer(asks, partial(self._on_call, says, then))

    def _on_call(
        self, says: type[R], then: Callable[[IncomingCall[V], bytes], None], asked: IncomingCall[V]
    ) -> None:
        ask = asked.ask
        if ask.target in (b"", self._context.me.uuid):
            first = self.first_asker(asked)
            if ask.visited:
                check_certificate(self._context, ask.certificate, first)
            then(asked, first)
            return
        standing = check_certificate(self._context, ask.certificate, _named_asker(asked))
        if standing is Standing.NEWER:
            self._context.facts.publish_fact(SessionBehind(asked.who))
        peer = self._neighbours.peers.get(ask.target)
        self.pass_on(asked, peer.node.name if peer is not None else "", says)

    def first_asker(self, asked: IncomingCall[V] | IncomingCall[AskCollect]) -> bytes:
        """Return the id of the node that asked first. Raises: LocalError if that is linked (Law 3)."""
        first = self._neighbours.peers.get(asked.ask.certificate.node)
        if asked.ask.visited and first is not None and first.data is not None:
            what = f"{self._context.me.name} is linked with the node that asked first."
            raise LocalError(what, code="FORGED_VISIT")
        return _named_asker(asked)

    def pass_on(self, asked: IncomingCall[V] | IncomingCall[AskCollect], node: str, says: type[R]) -> None:
        """Ask the next hop to a node, and return its reply. Raises: LocalError for an impossible route."""
        ask, me = asked.ask, self._context.me.name
        error = LocalError(f"{me} has no route to {node or 'that node'}.", code="UNKNOWN_NODE")
        if not node or me in ask.visited or len(ask.visited) >= HOPS:
            raise error
        further = replace(ask, visited=[*ask.visited, me])

        def found(hop: Peer | None) -> None:
            if hop is None:
                asked.fail(error)
            else:
                came = partial(self._on_passed, asked, hop.node.uuid)
                self._questions.ask_all([hop], further, says, came, min(ask.within, WITHIN), is_patient=True)

        self._find_hop(node, found)

    def _on_passed(
        self, asked: IncomingCall[Any], hop: bytes, replies: Replies[R], missing: list[str]
    ) -> None:
        reply = replies.get(hop)
        if reply is None or reply.code:
            code = reply.code if reply is not None else "UNKNOWN_NODE"
            asked.fail(LocalError("The next hop did not return an answer.", code=code))
        else:
            asked.reply(reply.value, [self._context.relayed(envelope) for envelope, _ in reply.found])


def _named_asker(asked: IncomingCall[Any]) -> bytes:
    """Return the id of the asking node, or of the node in the certificate if a relay asks."""
    node: bytes = asked.ask.certificate.node if asked.ask.visited else asked.who.node.uuid
    return node
