"""Claims what consumers here have of other nodes, where their sessions were before, and settles it there."""

# Law 1: a claim is sent when its node is linked, again after each login with it, and until it is answered.
#        A node that must not be linked is asked through others, at least every TOUCH seconds.
# Law 2: a settlement is answered when the part of the queue has answered it.
# Law 3: registering a consumer waits for linked nodes alone.
# Law 4: the claims of a consumer that has left end when its settlements are answered.

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from mesh.errors import RemoteError
from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.consumers.remote_claim import Message, OnSettled, RemoteClaim, SettledRun
from mesh.features.queues.model.envelopes.counts import Runs
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn, LoggedOut, PeerForgotten
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.peer_calls import PeerReply
from mesh.kernel.subscribers.relayed_calls import RelayedCalls
from mesh.kernel.subscribers.session import Session
from mesh.wire.calls import AskHold, AskSettle
from mesh.wire.commands import Certificate
from mesh.wire.replies import DeliveriesHeld, Settlements

AGAIN = 1.0  # s until a failed question is repeated
WITHIN = 4.0  # s for an answer
TOUCH = 5.0  # s between two questions through other nodes, at most
FINAL = ("MOVED", "FORGED_VISIT", "MALFORMED", "BAD_QUERY", "UNKNOWN_VERB")  # other refusals are repeated


@dataclass(slots=True, eq=False)
class Claimant:
    """A consumer here, with its claims at other nodes."""

    session: Session
    queue: QueueSink
    taker: QueueConsumer
    claims: dict[bytes, RemoteClaim] = field(default_factory=dict)  # by node
    again_at: dict[bytes, float] = field(default_factory=dict)  # by node
    asked_at: dict[bytes, float] = field(default_factory=dict)  # by node
    has_left: bool = False
    begun: int = 0  # last delivery tag that the consumer had begun when it left

    def count_claimed(self) -> None:
        """Count the messages of granted claims, which use the credit of the consumer."""
        if not self.has_left:
            self.taker.claimed = sum(len(claim.left) for claim in self.claims.values() if claim.is_granted)
            self.queue.schedule()


class RemoteClaims(Component):
    """Component that claims and settles for the consumers of sessions that moved here."""

    def __init__(self, context: NodeContext, calls: RelayedCalls) -> None:
        self._context = context
        self._calls = calls
        self._all: dict[QueueConsumer, Claimant] = {}

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, lambda fact: self._claim_again(fact.peer.node.uuid)),
            on_fact(LoggedOut, lambda fact: self._on_logout(fact.peer.node.uuid)),
            on_fact(PeerForgotten, lambda fact: self._on_forgotten(fact.peer.node.uuid)),
        )

    def requires_login(self, peer: Peer) -> bool:
        return any(peer.node.uuid in it.claims for it in self._all.values())

    # --- consumers --------------------------------------------------------------------------------------

    def begin(
        self,
        session: Session,
        queue: QueueSink,
        taker: QueueConsumer,
        terms: tuple[int, int],
        messages: Mapping[bytes, Mapping[int, Message]],
        then: OnSettled,
    ) -> None:
        """Claim `messages` of a new consumer: by node, and by delivery tag.

        `terms` are the number of the subscription and its lease in ms. `then` is called with the tags that
        are not the consumer's, when all linked nodes have answered.
        """
        it = Claimant(session, queue, taker)
        pending, over = set(messages), list[int]()

        def opened(node: bytes, void: list[int]) -> None:
            pending.discard(node)
            over.extend(void)
            if not pending:
                it.count_claimed()
                then(over)

        if not messages:
            then([])
            return
        number, lease = terms
        for node, found in messages.items():
            opens = partial(opened, node)
            it.claims[node] = RemoteClaim(number, queue.name, lease, found, opens)
        self._all[taker] = it
        for node in messages:
            self._ask(it, node)

    def end(self, taker: QueueConsumer, begun: int, kept: Collection[bytes] = ()) -> None:
        """End the claims of a consumer; its next registration claims again at the nodes in `kept`."""
        it = self._all.get(taker)
        if it is None:
            return
        it.has_left, it.begun = True, begun
        for node, claim in list(it.claims.items()):
            if node in kept:
                self._drop_claim(it, node)
            elif not claim.is_owed_answer:
                self._finish(it, node)

    def _certificate(self, it: Claimant) -> Certificate | None:
        """Return the proof that the session is here, or `None` if it has left."""
        known = self._context.visits.find(it.session.stream)
        return known if known is not None and known.node == self._context.me.uuid else None

    # --- settling ---------------------------------------------------------------------------------------

    def tags(self, taker: QueueConsumer) -> set[int]:
        """Return the delivery tags of a consumer whose messages other nodes have; usually none."""
        it = self._all.get(taker)
        return {tag for claim in it.claims.values() for tag in claim.tags} if it is not None else set()

    def settle(
        self, taker: QueueConsumer, done: Runs, entries: Sequence[SettledRun], then: Callable[[Runs], None]
    ) -> None:
        """Settle at the other nodes; `then` gets the tags that were not the consumer's, after all answers."""
        it, over, open_claims = self._all[taker], list[int](), 0

        def settled(tags: list[int]) -> None:
            nonlocal open_claims
            open_claims -= 1
            over.extend(tags)
            if not open_claims:
                then([(tag, tag) for tag in sorted(over)])

        found = [(node, each, each.select(done, entries, settled)) for node, each in it.claims.items()]
        open_claims = sum(settlement is not None for *_, settlement in found)
        if not open_claims:
            then([])
        for node, claim, settlement in found:
            if settlement is not None:
                claim.settle(settlement)
                self._ask(it, node)

    # --- questions --------------------------------------------------------------------------------------

    def _ask(self, it: Claimant, node: bytes) -> None:
        """Ask a node the next question, if it can be reached."""
        claim, certificate = it.claims[node], self._certificate(it)
        if self._all.get(it.taker) is not it or it.again_at.get(node, 0.0) > self._context.clock.now:
            return
        if certificate is None:
            claim.on_refused()
        if not claim.is_owed_answer and (it.has_left or not (claim.left or claim.is_refused)):
            self._finish(it, node)
        elif claim.is_refused or certificate is None:
            return
        elif (ask := claim.next_question(certificate)) is not None:
            self._send(it, node, ask)

    def _send(self, it: Claimant, node: bytes, ask: AskHold | AskSettle) -> None:
        it.asked_at[node] = self._context.clock.now
        if isinstance(ask, AskHold):
            came = partial(self._on_held, it, node, ask)
            is_sent = self._calls.ask(node, ask, DeliveriesHeld, came, WITHIN)
        else:
            answered = partial(self._on_settled, it, node, ask)
            is_sent = self._calls.ask(node, ask, Settlements, answered, WITHIN)
        if not is_sent:
            it.claims[node].on_lost()  # asked at its login

    def _finish(self, it: Claimant, node: bytes) -> None:
        """End a claim, and let its node requeue the remaining messages."""
        claim, certificate = it.claims[node], self._certificate(it)
        self._drop_claim(it, node)
        if not claim.is_refused and certificate is not None:
            ask = claim.leave(certificate, it.begun)
            self._calls.ask(node, ask, DeliveriesHeld, lambda reply: None, WITHIN)

    def _drop_claim(self, it: Claimant, node: bytes) -> None:
        del it.claims[node]
        if not it.claims:
            del self._all[it.taker]

    def _on_held(
        self, it: Claimant, node: bytes, ask: AskHold, reply: PeerReply[DeliveriesHeld] | None
    ) -> None:
        claim = it.claims.get(node)
        if claim is None or claim.asked is not ask:
            return  # it was asked again at a login
        if reply is None or (reply.code and reply.code not in FINAL):
            self._retry(it, node)
        elif reply.code or not reply.value.epoch:
            claim.on_refused()
        else:
            try:
                claim.on_held(reply.value.epoch, reply.value.lost)
            except RemoteError:
                self._context.counters.add_count("malformed")
                claim.on_refused()
        it.count_claimed()
        self._ask(it, node)

    def _on_settled(
        self, it: Claimant, node: bytes, ask: AskSettle, reply: PeerReply[Settlements] | None
    ) -> None:
        claim = it.claims.get(node)
        if claim is None or claim.asked is not ask:
            return
        if reply is None or reply.code:  # the part may have written it, which the next claim finds out
            self._retry(it, node)
        else:
            try:
                claim.on_settled(reply.value.over)
            except RemoteError:
                self._context.counters.add_count("malformed")
                claim.on_refused()
        it.count_claimed()
        self._ask(it, node)

    def _retry(self, it: Claimant, node: bytes) -> None:
        it.claims[node].on_lost()
        it.again_at[node] = self._context.clock.now + AGAIN
        self._context.clock.wake(it.again_at[node])

    def _on_logout(self, node: bytes) -> None:
        if self._calls.is_relayed(node):
            self._claim_again(node)

    def _claim_again(self, node: bytes) -> None:
        for it in [it for it in self._all.values() if node in it.claims]:
            it.again_at.pop(node, None)
            it.claims[node].on_lost()
            it.count_claimed()
            self._ask(it, node)

    def _on_forgotten(self, node: bytes) -> None:
        for it in [it for it in self._all.values() if node in it.claims]:
            it.claims[node].on_refused()
            it.count_claimed()
            self._ask(it, node)

    def on_second(self) -> None:
        """Report the consumers that are still here to nodes that do not see this node's connection."""
        oldest = self._context.clock.now - TOUCH
        for it in list(self._all.values()):
            for node in [node for node, at in it.asked_at.items() if at <= oldest and node in it.claims]:
                certificate = self._certificate(it)
                if certificate is not None and self._calls.is_relayed(node):
                    ask = it.claims[node].touch(certificate)
                    if ask is not None:
                        self._send(it, node, ask)

    def tick(self) -> None:
        now = self._context.clock.now
        for it in list(self._all.values()):
            for node in [node for node, at in it.again_at.items() if at <= now]:
                del it.again_at[node]
                if node in it.claims:
                    self._ask(it, node)
