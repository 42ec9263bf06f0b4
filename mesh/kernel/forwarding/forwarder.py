"""Accepts messages from clients, peers and sites, and delivers, forwards, keeps or refuses them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

from mesh.kernel.context.component import TAILED_BACK, Component, HandlerEntry, Restores, on_command
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.leaving import Fate, Left, Step
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.router import Router
from mesh.kernel.forwarding.acceptance import Acceptance
from mesh.kernel.forwarding.copy_marker import untailed
from mesh.kernel.forwarding.deadletters import DeadLetters
from mesh.kernel.forwarding.dirty_reads import DirtyReads
from mesh.kernel.forwarding.entry_routing import EntryRouting
from mesh.kernel.forwarding.forward_answers import ForwardAnswers
from mesh.kernel.forwarding.incoming import Incoming
from mesh.kernel.forwarding.provenance import Provenance
from mesh.kernel.forwarding.refusal_memory import RefusalMemory
from mesh.kernel.peers.facts import RoutesChanged
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.facts import RouteLearned, RulesChanged
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.states.facts import RoutesVouched
from mesh.mapping.decision import Kind
from mesh.mapping.mapping import Mapping
from mesh.names import OTHERS
from mesh.reasons.reason import reason
from mesh.reasons.what import MESSAGE, What
from mesh.remote_names import WAY, is_site
from mesh.routing.forward_stages import Keeping
from mesh.routing.origin import Local
from mesh.routing.pending_forward import HERE, SOMEBODY, PendingForward
from mesh.snapshots.waiting import Waiting
from mesh.wire.commands import Answer, Forward, Outcomes
from mesh.wire.envelope import JOINT, TAILED, Envelope
from mesh.wire.limits import DIRECT
from mesh.wire.replies import Reason


class Forwarder(Component):
    """Forwards messages to their masters.

    `to_client(stream, answer)` answers a publisher.
    """

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        router: Router,
        neighbours: Neighbours,
        nodes: Nodes,
        mapping: Mapping,
        provenance: Provenance,
        dead: DeadLetters,
        to_client: Callable[[bytes, Answer], None],
        provisional: DirtyReads,
    ) -> None:
        refused = self._refused = RefusalMemory(context.me.name, router.log.given_up)
        routing = self.routing = EntryRouting(
            context, disk, router, neighbours, nodes, mapping, dead, refused, provisional
        )
        self.onward, self.rulings = routing.onward, routing.rulings
        self.tailback, self.shipping = routing.tailback, routing.shipping
        self.review = routing.decide_again
        self.local = Local(to_client)
        acceptance = self.acceptance = Acceptance(
            context, router, mapping, routing, refused, provisional, self.local
        )
        self.publish, self.put_in_queue = acceptance.publish_envelope, acceptance.put_in_queue
        self.accept_from_site = acceptance.accept_envelope
        answers = ForwardAnswers(context, routing)
        self.outcomes, self.on_site_answer = answers.on_outcomes, answers.on_answer
        self.incoming = Incoming(
            context,
            provenance,
            routing.marking.of_older,
            acceptance.accept_envelope,
            self.shipping,
            nodes.named,
        )
        self._context = context
        self._router = router
        self._nodes = nodes
        self._restored: list[tuple[int, Envelope]] = []  # entries that an earlier process stored

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(RulesChanged, self._on_rules),
            on_fact(RoutesChanged, lambda _: self.review()),
            on_fact(RouteLearned, lambda _: self.review()),
            on_fact(RoutesVouched, lambda _: self.incoming.decide_held()),
        )

    def waiting(self, names: Collection[str]) -> Iterator[Waiting]:
        for hop in self.onward.hops():
            depth = self.tailback.depth(hop)
            yield Waiting(f"tailback/{hop or '?'}", depth.messages, depth.bytes, depth.age)

    def _on_rules(self, fact: RulesChanged) -> None:
        self.acceptance.was_master |= fact.is_now
        self.routing.on_rules(fact.is_agreed, fact.is_now, fact.is_parent)

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (
            on_command(
                Forward, lambda conn, peer, command, envelopes: self.incoming.forwarded(peer, envelopes)
            ),
            on_command(Outcomes, lambda conn, peer, command, _: self.outcomes(peer, command)),
        )

    def envelope_restorers(self) -> dict[str, Restores]:
        return {TAILED_BACK: lambda position, envelope: self._restored.append((position, envelope))}

    def on_restored(self) -> None:
        self.acceptance.was_master = self._router.log.has_taken  # other rules may apply since the restart
        # In the order of each publisher, not in the order of their positions.
        restored, self._restored = self._restored, []
        for position, e in sorted(restored, key=lambda each: (each[1].stream, each[1].domain, each[1].first)):
            self._router.shelf.live += 1
            self._restore(position, e)

    def remains(self) -> Iterator[Left]:
        """Yield the messages that this node keeps for other nodes, by the next node."""
        found = Counter[str]()
        for entry in self.onward.entries():
            for hop in entry.hops if entry.is_kept else ():
                found[hop] += entry.lacking[hop].count()
        for hop, count in sorted(found.items()):
            ways = self._context.face.next_hops
            is_up = ways[WAY].has_way(hop) if is_site(hop) else hop == HERE or self._nodes.is_alive(hop)
            fate = Fate.MOVES if is_up else Fate.WAITS
            yield Left(Step.OUTBOUND, "messages in the outbound buffer", count, fate, hop)

    def explain(self, what: What) -> Iterator[Reason]:
        if what.kind != MESSAGE:
            return
        stream, domain, number = what.message
        for entry, _, _ in self.onward.find_answered(stream, domain, number, number):
            hops = [hop for hop in entry.hops if number in entry.lacking[hop]]
            yield from (self._waits(entry, hop) for hop in hops)
        refusal = self._refused.refusal_of(stream, domain, number)
        if refusal is not None:
            yield reason("REFUSED", why=refusal.state)

    def has_refused(self, e: Envelope) -> bool:
        """Return whether a message of an envelope of a local client was refused before."""
        return any(answer for _, _, answer in self._refused.split_repeated(e, e.first, e.last, is_own=True))

    def _waits(self, entry: PendingForward, hop: str) -> Reason:
        if self.onward.is_under_way(entry, hop):
            return reason("UNDER_WAY", next=hop)
        if is_site(hop):
            state = self._context.face.next_hops[WAY].describe_hop(hop)
        else:
            state = self._nodes.standing(hop).says if hop else "no master is known"
        return reason("WAITS_FOR", next=hop or "a master", why=entry.why, state=state)

    def figures(self) -> dict[str, int | float]:
        return {
            "tailed_back": self.onward.messages,
            "tailback_bytes": self.onward.bytes,
            "tailback_age": self.tailback.age(),
        }

    def holds(self) -> int:
        return self.onward.bytes

    # --- routes -----------------------------------------------------------------------------------------

    def linked(self, peer: Peer) -> None:
        """Send the entries that wait for a peer, as its data connection opened.

        Entries in flight are sent again, as an earlier connection may have lost them.
        """
        self.incoming.provenance.introduce(peer)
        self.onward.requeue_in_flight(peer.node.name)  # an earlier connection may have lost messages
        self._review_if_met(peer)
        self.shipping.schedule_send(peer.node.name)

    def unlinked(self, peer: Peer) -> None:
        """Requeue the entries in flight to a peer, as its data connection ended, and warn their publishers.

        An entry for several masters causes no warning yet.
        """
        self.incoming.provenance.drop_peer(peer)
        for entry in self.onward.requeue_in_flight(peer.node.name):
            if not entry.was_divided:
                self.tailback.warn(entry)
        self._review_if_met(peer)

    def on_route_lost(self, hop: str) -> None:
        """Requeue the entries in flight to a site that lost a gateway, and decide all waiting entries again.

        If no other gateway reaches the site, the publishers of the requeued entries are warned.
        """
        again = self.onward.requeue_in_flight(hop)
        if not self._context.face.next_hops[WAY].has_way(hop):
            for entry in again:
                self.tailback.warn(entry)
        self.review()

    def _review_if_met(self, peer: Peer) -> None:
        """Review all routes if no rule names the peer, which then is a next hop only while it is linked.

        Routes through a peer of an earlier release are reviewed, too: it may lack a feature of a message.
        """
        if not self._nodes.is_named(peer.node.name) or DIRECT not in peer.speaks:
            self.review()

    def needs_login(self, peer: Peer) -> bool:
        """Return whether entries wait for the peer."""
        return peer.node.name in self.onward.hops()

    def _restore(self, position: int, envelope: Envelope) -> None:
        is_joint = bool(envelope.flags & JOINT)
        envelope, first = untailed(envelope.without(TAILED | JOINT))
        entry = self.onward.add(envelope, self.local, self._context.clock.now)
        entry.is_joint = is_joint
        entry.change_keeping(Keeping.STORED)
        entry.position = position
        entry.first, entry.first_was_sent, entry.sent_to = first, bool(first), SOMEBODY
        if envelope.to.startswith(OTHERS):  # perhaps sent, so it waits for a route
            entry.presume_sent()
        deciding = self.routing.deciding
        for part, decision in self.routing.split(entry, deciding.decide(envelope)):
            is_elsewhere = decision.kind in (Kind.FORWARD, Kind.WAIT)  # other decisions wait for the peers
            self.rulings.file(part, deciding.question(part.envelope), decision, is_elsewhere)
            self.routing.send_on(part, decision)
            self.tailback.watch(part)

    def tick(self) -> None:
        self.routing.find_routes()
        self.incoming.decide_held()
        self.routing.tick()
