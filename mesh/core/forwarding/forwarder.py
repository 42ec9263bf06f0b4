"""Accepts messages from clients, peers and sites, and delivers, forwards, keeps or refuses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from mesh.core.context.component import TAILED_BACK, Component, HandlerEntry, Restores, on_command
from mesh.core.context.disk import Disk
from mesh.core.context.facts import Hearing, on_fact
from mesh.core.context.node_clock import is_followed
from mesh.core.context.node_context import NodeContext
from mesh.core.delivery.durable_bindings import Answered
from mesh.core.delivery.router import Router, refusal
from mesh.core.forwarding.copy_marker import CopyMarker, untailed
from mesh.core.forwarding.deadletters import DeadLetters
from mesh.core.forwarding.deferred_entries import DeferredEntries
from mesh.core.forwarding.dirty_reads import DirtyReads
from mesh.core.forwarding.incoming import Incoming
from mesh.core.forwarding.outbound_buffer import OutboundBuffer
from mesh.core.forwarding.peer_sender import PeerSender
from mesh.core.forwarding.provenance import Provenance
from mesh.core.forwarding.refusal_memory import RefusalMemory
from mesh.core.forwarding.route_decisions import CIRCULAR, TO_MASTER, UNKNOWN, RouteDecisions
from mesh.core.peers.facts import RoutesChanged
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.routes.facts import RouteLearned, RulesChanged
from mesh.core.routes.nodes import Nodes
from mesh.core.states.facts import RoutesVouched
from mesh.errors import LocalError, PublishRefused
from mesh.hops import inside, is_foreign
from mesh.loglevels import ROUTES
from mesh.mapping.decision import ASKING, CHANGING, Decision, Kind
from mesh.mapping.keyxml import check_xml
from mesh.mapping.mapping import Mapping
from mesh.names import OTHERS, PUTS
from mesh.patterns import SYSTEM
from mesh.reasons.reason import reason
from mesh.reasons.what import MESSAGE, What
from mesh.remote_names import UNREACHABLE, WAY, is_site, split
from mesh.reserved import reserved
from mesh.routing.decision_table import DecisionTable
from mesh.routing.forward_table import ForwardTable
from mesh.routing.origin import Local, Origin
from mesh.routing.pending_forward import HERE, SOMEBODY, PendingForward
from mesh.sites.stream_backoff import is_for_now
from mesh.values import check_domain
from mesh.wire.commands import Answer, Forward, Outcomes
from mesh.wire.envelope import HELD, LOCAL_ONLY, TAILED, Envelope
from mesh.wire.limits import DIRTY
from mesh.wire.properties import check_properties
from mesh.wire.replies import Reason

WARNING = "FORWARD_WARNING"
HOLDS = 10.0  # s after a change of rules in which loops are not final
MAY_BE_THERE = (CIRCULAR, UNREACHABLE)  # refusals that are not final for sent messages


class Forwarder(Component):
    """Forwards messages to their masters.

    `to_client(stream, answer)` answers a publisher. `had` records an envelope that a backup master may accept
    as well.
    """

    def __init__(  # noqa: PLR0913
        self,
        desk: NodeContext,
        disk: Disk,
        router: Router,
        neighbours: Neighbours,
        nodes: Nodes,
        mapping: Mapping,
        provenance: Provenance,
        dead: DeadLetters,
        to_client: Callable[[bytes, Answer], None],
        had: Callable[[Envelope], None],
        provisional: DirtyReads,
    ) -> None:
        s, log = desk.settings, router.log
        self.onward = ForwardTable(s.window_bytes, s.window_count)
        self._refused = RefusalMemory(desk.me.name, log.given_up)
        self._deciding = RouteDecisions(desk, mapping, nodes)
        self.rulings = DecisionTable(
            self.onward, lambda entry: self._deciding.decide(entry.envelope), self._rouse, self._look_in_turn
        )
        self.tailback = OutboundBuffer(
            desk,
            disk,
            log,
            self.onward,
            dead,
            nodes.is_alive,
            self._refused.remember,
            self.rulings.is_unsettled,
            provisional.retract_refused,
        )
        self.mapping = mapping
        marking = self._marking = CopyMarker(desk, router, nodes, mapping, provisional)
        self._neighbours = neighbours
        self._local = Local(to_client)
        self._had = had
        self._desk = desk
        self._router = router
        self._provisional = provisional
        self._nodes = nodes
        self.shipping = PeerSender(desk, self.onward, neighbours, self.rulings.may_leave, marking.to)
        self.incoming = Incoming(desk, provenance, marking.of_older, self._accept, self.shipping)
        self._settled = False
        self._was_master = False  # accepted messages may now have other masters
        self._put_off = DeferredEntries(desk, self.onward, self.rulings)
        self._restored: list[tuple[int, Envelope]] = []  # entries that an earlier process stored

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(RulesChanged, self._on_rules),
            on_fact(RoutesChanged, lambda _: self.review()),
            on_fact(RouteLearned, lambda _: self.review()),
            on_fact(RoutesVouched, lambda _: self.incoming.release()),
        )

    def _on_rules(self, fact: RulesChanged) -> None:
        now = self._desk.clock.now
        self._put_off.ruled()
        self._deciding.holds_until = 0.0 if fact.is_agreed else now + HOLDS
        self._desk.clock.wake(now + HOLDS)
        if fact.is_now:
            self._was_master = True
            self.rulings.refile(lambda entry: self._deciding.question(entry.envelope))
            self._put_off.refiled()

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
        # In the order of each publisher, not in the order of their positions.
        self._was_master = self._router.log.has_taken  # rules may differ from those before the restart
        restored, self._restored = self._restored, []
        for position, e in sorted(restored, key=lambda each: (each[1].stream, each[1].domain, each[1].first)):
            self._router.shelf.live += 1
            self._restore(position, replace(e, flags=e.flags & ~TAILED))

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

    def _waits(self, entry: PendingForward, hop: str) -> Reason:
        if self.onward.is_under_way(entry, hop):
            return reason("UNDER_WAY", next=hop)
        if is_site(hop):
            state = self._desk.face.next_hops[WAY].describe_hop(hop)
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

    # --- accepting --------------------------------------------------------------------------------------

    def publish(self, envelope: Envelope, was_sent: bool = False) -> None:
        """Process an envelope that a client of this node publishes.

        `was_sent` means that an earlier process may have forwarded it, so that its master may have it
        already.
        """
        if envelope.flags & LOCAL_ONLY or (
            self.mapping.is_plain
            and not envelope.to
            and not self.onward.holds(envelope.stream, envelope.domain)
        ):
            self._accept_here(envelope, self._local)
        elif envelope.to[:6] == PUTS:
            self._desk.face.puts[PUTS](envelope)
        elif envelope.to.startswith(OTHERS):
            self._accept(self._at_home(envelope), self._local, was_sent)
        else:
            self._accept(envelope, self._local, was_sent)

    def _at_home(self, envelope: Envelope) -> Envelope:
        site, name = split(envelope.to)
        return replace(envelope, to=name) if site == self._desk.settings.site else envelope

    def accept_from_site(self, envelope: Envelope, origin: Origin) -> None:
        self._accept(envelope, origin)

    def put_in_queue(self, envelope: Envelope) -> None:
        """Put a message into a queue of this node, as queue messages are never forwarded."""
        self._accept_here(envelope, self._local)

    def _accept(self, envelope: Envelope, origin: Origin, was_sent: bool = False) -> None:
        known, missing = self.onward.split_known(envelope)
        if known and self._deciding.is_only_here(envelope):
            # This node's own copy does not wait for other masters: one of them may have sent it, and wait for
            # this node.
            known, missing = [], [(envelope.first, envelope.last)]
        for entry in known:
            if origin.is_local and not entry.is_kept:
                self.tailback.adopt(entry)
            # The first origin keeps the message until it is answered.
            entry.add_origin(origin)
            self.tailback.repeat(entry, envelope)
        try:
            check_domain(envelope.domain)
            if envelope.props:
                check_properties(envelope)
            if envelope.xml:
                check_xml(envelope.xml)
            if not origin.is_local and envelope.domain.startswith(SYSTEM):  # clients were checked before
                raise reserved(envelope.domain)
            for first, last in missing:
                for part in self._news(envelope, first, last, origin):
                    for run, decision in self._deciding.split_by_route(part):
                        self._act(run, origin, decision, was_sent)
        except LocalError as error:  # an invalid name or domain
            self._desk.counters.count("refused", envelope.count)
            self._answer_origin(origin, envelope, refusal(envelope, error))

    def _news(self, e: Envelope, first: int, last: int, origin: Origin) -> Iterator[Envelope]:
        """Yield the parts that were not refused before, and repeat the answer for the others."""
        for a, b, answer in self._refused.split_repeated(e, first, last, origin.is_local):
            if answer is None:
                yield e.part(a, b)
            else:
                self._answer_origin(origin, e, answer)

    def _act(self, envelope: Envelope, origin: Origin, decision: Decision, was_sent: bool) -> None:
        is_here = decision.kind is Kind.HERE and not decision.copies
        before = self._put_off.waits_for(envelope, decision)
        if before is not None and self.onward.split_known(envelope)[0]:
            before = None  # this node's copy need not wait for other masters
        if is_here and before is None:
            is_shared = decision.is_shared or inside(envelope.route) is not envelope.route
            stamp = self._shared_stamp(envelope) if is_shared else 0
            self._accept_here(envelope, origin, stamp, decision.stands_for)
            return
        if self._was_master and self._answers(envelope, origin, decision, was_sent):
            return
        if decision.kind is Kind.REFUSE or self._turns_back(decision, origin):
            self._desk.counters.count("refused", envelope.count)
            # For a peer's message the refusal is about its route, not about the message.
            answer = refusal(envelope, _refused(decision))
            if origin.is_local:
                self._answer_origin(origin, envelope, answer)
            else:
                origin.answer(envelope.stream, answer)
            return
        question = self._deciding.question(envelope)
        hop = self._desk.hop(TO_MASTER if decision.to_master else 0)  # the master sets the strata
        if envelope.flags & HELD:
            envelope = envelope.without(HELD)
        envelope = envelope.passed(hop, self._desk.clock.stamp())
        entry = self.onward.add(envelope, origin, self._desk.clock.now)
        entry.was_sent = was_sent
        if origin.is_local and not envelope.to:
            self._router.cache.went(envelope)
        what = " ".join(filter(None, (envelope.keys[0], envelope.domain, envelope.to)))
        whom = ", ".join(decision.hops)
        self._desk.out.note("debug", f"{what}: {decision.kind.value} {whom}: {decision.why}", ROUTES)
        if before is not None:
            self._put_off.put_behind(entry, before)
        else:
            entry.is_given = self.mapping.has_dirty and self._provisional.goes(envelope, decision)
            self.rulings.file(entry, question, decision)
            self._send_on(entry, decision)
        self.tailback.watch(entry)

    def _answers(self, e: Envelope, origin: Origin, decision: Decision, was_sent: bool) -> bool:
        """Accept messages that this node accepted before as their master; return whether there were any.

        Only the others go on to the new master, which would deliver the known messages again.
        """
        lane = self._router.log.find_stream(e.stream, e.domain)
        if lane is None or e.to or is_foreign(e.sender) or self._has_several(e):
            return False
        taken, left = lane.origin.above.common(e.first, e.last), lane.origin.above.missing(e.first, e.last)
        if not taken:
            return False
        for first, last in taken:
            self._accept_here(e.part(first, last), origin)
        for first, last in left:
            self._act(e.part(first, last), origin, decision, was_sent)
        return True

    def _has_several(self, e: Envelope) -> bool:
        mapping = self.mapping
        return mapping.has_several and any(len(mapping.holders(key, e)) > 1 for key in e.keys)

    def _accept_here(
        self, envelope: Envelope, origin: Origin, stamp: int = 0, stands_for: Sequence[str] = ()
    ) -> None:
        def answered(answer: Answer) -> None:
            self._answer_origin(origin, envelope, answer)

        then = self._taking(envelope, stands_for, answered) if self.mapping.has_backups else answered
        holder = None
        if envelope.flags & HELD:
            holder, envelope = origin.link(), envelope.without(HELD)
        self._router.publish(origin.pace(envelope.stream), envelope, then, stamp, holder)

    def _taking(self, envelope: Envelope, stands_for: Sequence[str], say: Answered) -> Answered:
        """Return the handler of answers for an envelope that this node accepts, perhaps as a backup."""
        if envelope.to:
            return say
        note = (
            f"at {self._desk.me.name}, because {', '.join(stands_for)} cannot be reached"
            if stands_for
            else ""
        )

        def answered(answer: Answer) -> None:
            if answer.state == "OK":
                self._had(envelope)
                answer = replace(answer, text=note or answer.text)
            say(answer)

        return answered

    def _here_too(self, entry: PendingForward) -> None:
        """Accept the envelope of an entry here, as one of its masters."""
        e, entry.was_sent = self._marking.here(entry), True

        def answered(answer: Answer) -> None:
            self.tailback.record_final_answer(entry, HERE, answer)
            self._warn_in_vain(entry)

        self._router.publish(entry.origin.pace(e.stream), e, answered, self._shared_stamp(e))

    def _shared_stamp(self, envelope: Envelope) -> int:
        """Return the timestamp of the publishing node, or 0 if it is too far ahead.

        Several masters must agree which value is the latest, though messages reach them in different orders.
        A timestamp of another site is always kept, as all sites must agree.
        """
        if is_followed(envelope.sent, self._desk.clock.wall):
            self._desk.clock.heard_stamp(envelope.sent)
            return envelope.sent
        return envelope.sent if is_foreign(envelope.sender) else 0

    def _send_on(self, entry: PendingForward, decision: Decision) -> None:
        is_master = decision.kind is Kind.HERE
        is_new_here = is_master and HERE not in entry.lacking
        if decision.copies or entry.first:
            self._marking.decided(entry, decision)
        hops = (*((HERE,) if is_master else ()), *decision.hops)
        self.onward.assign(entry, hops, decision.why, decision.code == ASKING)
        _address(entry, decision.to_master)
        if is_new_here:
            self._here_too(entry)
        for hop in entry.hops:
            self._send_to(hop)
        self._warn_in_vain(entry)

    def _send_to(self, hop: str) -> None:
        """Send the waiting entries for that node, and log in to it if needed."""
        self.shipping.schedule_send(hop)
        peer = self._nodes.named(hop)
        if peer is not None and peer.data is None and self._nodes.is_alive(hop):
            self._neighbours.review_login(peer)

    def _warn_in_vain(self, entry: PendingForward) -> None:
        """Warn a publisher at once if no next hop can answer soon."""
        is_expected = entry.lacking.get(HERE) or entry.is_asking or not self._settled
        if entry.hops and not is_expected and not any(self._may_answer(entry, hop) for hop in entry.hops):
            self.tailback.warn(entry)

    def _may_answer(self, entry: PendingForward, hop: str) -> bool:
        peer = self._nodes.named(hop)
        if peer is None or not self._nodes.is_alive(hop):
            return is_site(hop) and self._desk.face.next_hops[WAY].has_way(hop)
        return not (
            peer.data is None and peer.lost_at is not None and peer.link.attempt > 1
        )  # retries failed

    # --- answers ----------------------------------------------------------------------------------------

    def outcomes(self, peer: Peer, command: Outcomes) -> None:
        """Handle a peer's answers for forwarded messages."""
        for outcome in command.outcomes:
            a = outcome.answer
            found = self.onward.find_answered(outcome.stream, a.domain, a.first, a.last)
            if not found:
                self._desk.counters.count("unasked")
            for entry, first, last in found:
                part = Answer(a.domain, first, last, a.state, a.matched, a.text)
                line = self.onward.line_of(entry, peer.node.name)
                if line is not None:
                    line.progress = self._desk.clock.now
                self._outcome(entry, peer.node.name, part)
        self.shipping.schedule_send(peer.node.name)  # its window may be open again

    def on_site_answer(self, entry: PendingForward, hop: str, answer: Answer) -> None:
        self._outcome(entry, hop, answer)
        self.shipping.schedule_send(hop)

    def _outcome(self, entry: PendingForward, hop: str, answer: Answer) -> None:
        if answer.state == WARNING:
            if hop in entry.lacking:
                self.tailback.warn(entry, answer.text)
        elif hop in entry.lacking and self._may_turn(entry, answer):
            self._put_off.defer_returned(entry, answer.text, answer.state == CHANGING)
        elif hop in entry.lacking:
            self.tailback.record_final_answer(entry, hop, answer)
            if entry.was_divided:
                self._warn_in_vain(entry)
        elif answer.state == "OK" and hop in entry.former and not entry.was_divided:
            # Accepted by an earlier hop, so refusals of the present one do not count.
            self.tailback.record_final_answer(entry, entry.hops[0], answer)

    def _may_turn(self, entry: PendingForward, answer: Answer) -> bool:
        """Return whether a refusal may only be due to different versions of the rules."""
        is_passing = answer.state == CHANGING or (answer.state == CIRCULAR and self._put_off.is_lately)
        return is_passing and not entry.was_divided

    def _retry_deferred(self) -> None:
        """Decide deferred entries again that are due, and all entries once routing loops are final again."""
        for entry in self._put_off.take_due():
            decision = self._deciding.decide(entry.envelope)
            self.rulings.file(entry, self._deciding.question(entry.envelope), decision)
            self._apply_decision(entry, decision)
        if 0.0 < self._deciding.holds_until <= self._desk.clock.now:
            self._deciding.holds_until = 0.0
            self.review()

    def _answer_origin(self, origin: Origin, e: Envelope, answer: Answer) -> None:
        if answer.state not in ("OK", WARNING) and not is_for_now(e.sender, answer.state, e.to):
            self._refused.remember(e.stream, answer)
        origin.answer(e.stream, answer)

    # --- changes ----------------------------------------------------------------------------------------

    def linked(self, peer: Peer) -> None:
        """Send the entries that wait for a peer, as its data connection opened.

        Entries in flight are sent again, as an earlier connection may have lost them.
        """
        self.incoming.provenance.introduce(peer)
        self.onward.requeue_in_flight(peer.node.name)  # an earlier connection may have lost messages
        self._review_if_met(peer)
        self.shipping.schedule_send(peer.node.name)

    def unlinked(self, peer: Peer) -> None:
        """Requeue unanswered entries of a peer, as its data connection ended, and warn their publishers."""
        self.incoming.provenance.drop_peer(peer)
        for entry in self.onward.requeue_in_flight(peer.node.name):
            if not entry.was_divided:
                self.tailback.warn(entry)
        self._review_if_met(peer)

    def on_route_lost(self, hop: str) -> None:
        """Requeue entries that left by a lost route to another site, and decide all waiting entries again.

        If no other gateway reaches the site, their publishers are warned.
        """
        again = self.onward.requeue_in_flight(hop)
        if not self._desk.face.next_hops[WAY].has_way(hop):
            for entry in again:
                self.tailback.warn(entry)
        self.review()

    def _review_if_met(self, peer: Peer) -> None:
        """Review all routes if the rules do not name that node, as it is known only while linked."""
        if not self._nodes.is_named(peer.node.name):
            self.review()

    def needs_login(self, peer: Peer) -> bool:
        """Return whether entries wait for the peer."""
        return peer.node.name in self.onward.hops()

    def review(self) -> None:
        """Decide all waiting entries again, as nodes or rules have changed."""
        self._deciding.drop_all()
        self.rulings.doubt(self.tailback.unanswered())
        self._continue_review()

    def _continue_review(self) -> None:
        self.rulings.go_on()
        for hop in self.onward.hops():  # held entries may leave now
            self.shipping.schedule_send(hop)

    def _rouse(self, decision: Decision) -> None:
        for hop in decision.hops if decision.kind is not Kind.REFUSE else ():
            self._send_to(hop)

    def _look_in_turn(self, entry: PendingForward, decision: Decision) -> None:
        self._apply_decision(entry, decision, is_in_turn=True)

    def _apply_decision(self, entry: PendingForward, decision: Decision, is_in_turn: bool = False) -> None:
        is_here = decision.kind is Kind.HERE and not decision.copies
        may_wait = is_here or entry.hops == [""] or not (entry.was_sent or entry.was_divided)
        before = self._put_off.waits_for(entry.envelope, decision, is_in_turn) if may_wait else None
        if before is not None:
            self._put_off.put_behind(entry, before)
        elif is_here:
            self._take_over(entry, decision)
        elif decision.kind is Kind.REFUSE and entry.was_sent and _may_be_there(entry, decision):
            return  # its node may have it, so it must not be refused
        elif decision.kind is Kind.REFUSE or self._goes_back(entry, decision):
            self.tailback.refuse(entry, _refused(decision))
        else:
            self._send_on(entry, decision)

    def _goes_back(self, entry: PendingForward, decision: Decision) -> bool:
        """Return whether to hand the message back to the node that forwarded it."""
        is_to_stay = entry.is_kept or entry.was_sent or entry.is_given
        return not is_to_stay and self._turns_back(decision, entry.origin)

    def _turns_back(self, decision: Decision, origin: Origin) -> bool:
        """Return whether the message is in a routing loop that may be temporary.

        The message then goes back, as the node that applies new rules last is the first to see that the loop
        has ended. A peer of an earlier release would take that for a final answer.
        """
        return decision.code == CHANGING and DIRTY in origin.features()

    def _take_over(self, entry: PendingForward, decision: Decision) -> None:
        """Accept an entry, as this node is its master after all."""
        self._marking.decided(entry, decision)
        envelope = self._marking.here(entry)
        self.onward.remove(entry)
        hop = entry.hops[0]

        def finish(answer: Answer) -> None:
            self.tailback.record_final_answer(entry, hop, answer)

        for first, last in entry.open:
            part = envelope.part(first, last)
            answered = self._taking(part, decision.stands_for, finish)
            stamp = self._shared_stamp(part) if is_foreign(part.sender) else 0
            self._router.publish(entry.origin.pace(part.stream), part, answered, stamp)

    def _restore(self, position: int, envelope: Envelope) -> None:
        envelope, first = untailed(envelope)
        entry = self.onward.add(envelope, self._local, self._desk.clock.now)
        entry.position, entry.warned = position, True
        entry.first, entry.first_was_sent, entry.sent_to = first, bool(first), SOMEBODY
        entry.was_sent = envelope.to.startswith(OTHERS)  # perhaps, so it waits for a route
        decision = self._deciding.decide(envelope)
        is_elsewhere = decision.kind in (Kind.FORWARD, Kind.WAIT)  # other decisions wait for the peers
        self.rulings.file(entry, self._deciding.question(envelope), decision, is_elsewhere)
        self._send_on(entry, decision)
        self.tailback.watch(entry)

    def tick(self) -> None:
        if self._neighbours.settled() and not self._settled:
            self._settled = True
            self.review()
        for node in [h for h in self.onward.hops() if h and not (self._nodes.is_known(h) or is_site(h))]:
            self._nodes.ask_way(node)  # no event reports when it becomes reachable
        self.incoming.release()
        if self.rulings.is_open:
            self._continue_review()
        self._retry_deferred()
        self.tailback.tick()

    def flush(self) -> None:
        if self.rulings.was_open and self.rulings.new_turn():
            self._desk.clock.wake(self._desk.clock.now)


def _address(entry: PendingForward, to_master: bool) -> None:
    """Record in the route whether the next hop is a master (law 5 of the mapping)."""
    *before, mine = entry.envelope.route
    stratum = TO_MASTER if to_master else 0
    if mine.stratum != stratum:
        entry.envelope = replace(entry.envelope, route=(*before, replace(mine, stratum=stratum)))


def _may_be_there(entry: PendingForward, decision: Decision) -> bool:
    """Return whether this refusal is not final for a message that was sent.

    A message of another site may also wait for a node that is unreachable. A site that is no longer
    configured has no route.
    """
    is_kept_abroad = decision.code == UNKNOWN and is_foreign(entry.envelope.sender)
    is_for_now = decision.code in MAY_BE_THERE and not decision.is_final
    return is_for_now or is_kept_abroad


def _refused(decision: Decision) -> PublishRefused:
    return PublishRefused(decision.why + ".", hint="See `mesh route`.", code=decision.code)
