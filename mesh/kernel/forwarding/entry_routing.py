"""Sends entries by the decisions on their routes, and decides again when nodes or rules change."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from mesh.errors import PublishRefused
from mesh.hops import is_foreign
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.router import Router
from mesh.kernel.forwarding.copy_marker import CopyMarker
from mesh.kernel.forwarding.deadletters import DeadLetters
from mesh.kernel.forwarding.deferred_entries import DeferredEntries
from mesh.kernel.forwarding.dirty_reads import DirtyReads
from mesh.kernel.forwarding.local_master import LocalMaster
from mesh.kernel.forwarding.outbound_buffer import OutboundBuffer
from mesh.kernel.forwarding.peer_sender import PeerSender
from mesh.kernel.forwarding.refusal_memory import RefusalMemory
from mesh.kernel.forwarding.route_decisions import CIRCULAR, TO_MASTER, UNKNOWN, RouteDecisions
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.routes.nodes import Nodes
from mesh.mapping.decision import ASKING, CHANGING, Decision, Kind
from mesh.mapping.mapping import Mapping
from mesh.remote_names import UNREACHABLE, WAY, is_site
from mesh.routing.decision_table import DecisionTable
from mesh.routing.forward_table import ForwardTable
from mesh.routing.origin import Origin
from mesh.routing.pending_forward import HERE, PendingForward, course_of
from mesh.wire.commands import Answer
from mesh.wire.limits import DIRTY

# Law 1: an entry that a node may have is not refused for a routing loop or an unreachable site, unless the
#        site is no longer configured. An entry of another site is not refused for an unknown node either.
# Law 2: an entry that this node keeps is never handed back to the node that forwarded it.
# Law 3: if no next hop can answer soon, the publisher is warned immediately.
# Law 4: an entry whose messages have different routes under later rules is split, as an arriving envelope is.

HOLDS = 10.0  # s after a change of rules in which loops are not final
MAY_BE_THERE = (CIRCULAR, UNREACHABLE)  # refusals that are not final for sent messages


class EntryRouting:
    """The entries without a final answer, and the components that decide and use their routes."""

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        router: Router,
        neighbours: Neighbours,
        nodes: Nodes,
        mapping: Mapping,
        dead: DeadLetters,
        refused: RefusalMemory,
        provisional: DirtyReads,
    ) -> None:
        self._context = context
        self._nodes = nodes
        self._neighbours = neighbours
        self.onward = ForwardTable(context.settings.window_bytes, context.settings.window_count)
        self.deciding = RouteDecisions(context, mapping, nodes)
        self.rulings = DecisionTable(
            self.onward,
            lambda entry: self.deciding.decide(entry.envelope),
            self._rouse,
            self._look_in_turn,
            lambda: context.out.ending.setdefault(self._end_turn),
        )
        self.tailback = OutboundBuffer(
            context,
            disk,
            router.log,
            self.onward,
            dead,
            nodes.is_alive,
            refused.remember,
            self.rulings.is_unsettled,
            provisional.retract_refused,
        )
        self.marking = CopyMarker(context, router, nodes, mapping, provisional)
        self.shipping = PeerSender(context, self.onward, neighbours, self.rulings.may_leave, self.marking.to)
        self.put_off = DeferredEntries(context, self.onward, self.rulings)
        self.here = LocalMaster(context, router, mapping, refused)
        self._settled = False  # all nodes had time to appear after the start

    # --- sending ----------------------------------------------------------------------------------------

    def send_on(self, entry: PendingForward, decision: Decision) -> None:
        """Send an entry to the next hops of a decision, or let it wait for them.

        If this node is one of the masters, it accepts its copy.
        """
        is_master = decision.kind is Kind.HERE
        is_new_here = is_master and HERE not in entry.lacking
        if decision.copies or entry.first:
            self.marking.decided(entry, decision)
        hops = (*((HERE,) if is_master else ()), *decision.hops)
        self.onward.set_next_hops(entry, hops, decision.why, decision.code == ASKING)
        _address(entry, decision.to_master)
        if is_new_here:
            self._accept_copy(entry)
        for hop in entry.hops:
            self._send_to(hop)
        self.warn_in_vain(entry)

    def _accept_copy(self, entry: PendingForward) -> None:
        def answered(answer: Answer) -> None:
            self.tailback.record_final_answer(entry, HERE, answer)
            self.warn_in_vain(entry)

        envelope = self.marking.here(entry)
        entry.presume_sent()
        self.here.accept_copy(envelope, entry.origin, answered)

    def _send_to(self, hop: str) -> None:
        """Schedule a send of the waiting entries for a next hop, and log in to that node if needed."""
        self.shipping.schedule_send(hop)
        peer = self._nodes.named(hop)
        if peer is not None and peer.data is None and self._nodes.is_alive(hop):
            self._neighbours.review_login(peer)

    def warn_in_vain(self, entry: PendingForward) -> None:
        """Warn a publisher immediately if no next hop can answer soon.

        No warning is sent while this node owes an answer itself, while the route is asked for, or before
        other nodes had time to appear after the start.
        """
        is_expected = entry.lacking.get(HERE) or entry.is_asking or not self._settled
        if entry.hops and not is_expected and not any(self._may_answer(entry, hop) for hop in entry.hops):
            self.tailback.warn(entry)

    def _may_answer(self, entry: PendingForward, hop: str) -> bool:
        peer = self._nodes.named(hop)
        if peer is None or not self._nodes.is_alive(hop):
            return is_site(hop) and self._context.face.next_hops[WAY].has_way(hop)
        return not (
            peer.data is None and peer.lost_at is not None and peer.link.attempt > 1
        )  # retries failed

    # --- deciding again ---------------------------------------------------------------------------------

    def on_rules(self, is_agreed: bool, is_now: bool, is_parent: bool = False) -> None:
        """Schedule new decisions on waiting entries after new rules were published.

        `is_now` means that this node applies the rules from now on, `is_agreed` that all live nodes have
        confirmed them. With `is_parent` sent entries take the new route, too: their master knows repeats.
        """
        now = self._context.clock.now
        self.put_off.ruled()
        self.deciding.holds_until = 0.0 if is_agreed else now + HOLDS
        self._context.clock.wake(now + HOLDS)
        if is_now:
            self.rulings.refile(lambda entry: self.deciding.question(entry.envelope), sent_too=is_parent)
            if not is_parent:
                self.put_off.refiled()

    def decide_again(self) -> None:
        """Decide all waiting entries again, as nodes or rules have changed."""
        self.deciding.drop_all()
        self.rulings.mark_outdated(self.tailback.unanswered())
        self._continue_review()

    def _end_turn(self) -> None:
        if self.rulings.new_turn():
            self._context.clock.wake(self._context.clock.now)

    def _continue_review(self) -> None:
        self.rulings.go_on()
        for hop in self.onward.hops():  # held entries may leave now
            self.shipping.schedule_send(hop)

    def _rouse(self, decision: Decision) -> None:
        for hop in decision.hops if decision.kind is not Kind.REFUSE else ():
            self._send_to(hop)

    def _look_in_turn(self, entry: PendingForward, decision: Decision) -> None:
        self.apply_decision(entry, decision, is_in_turn=True)

    def apply_decision(self, entry: PendingForward, decision: Decision, is_in_turn: bool = False) -> None:
        """Apply a later routing decision to an entry, split where its messages have different routes."""
        for part, own in self.split(entry, decision):
            if part is not entry:
                self.rulings.file(part, self.deciding.question(part.envelope), own)
            self._follow(part, own, is_in_turn)

    def split(self, entry: PendingForward, decision: Decision) -> Sequence[tuple[PendingForward, Decision]]:
        """Return an entry with its decision, or replace it by parts with decisions of their own.

        `decision` is the decision on the first message. The others may have other routes since rules changed.
        """
        envelope = entry.envelope
        if entry.was_divided or entry.first or not self.deciding.may_split(envelope):
            return ((entry, decision),)
        found = [each for run in entry.open for each in self.deciding.split_by_route(envelope.part(*run))]
        if {_route(own) for _, own in found} == {_route(decision)}:
            return ((entry, decision),)
        parts = self.onward.split(entry, [part for part, _ in found])
        self.tailback.replace_entry(entry, parts)
        return list(zip(parts, [own for _, own in found], strict=True))

    def _follow(self, entry: PendingForward, decision: Decision, is_in_turn: bool) -> None:
        is_here = decision.kind is Kind.HERE and not decision.copies
        may_wait = is_here or entry.hops == [""] or not (entry.was_sent or entry.was_divided)
        before = self.put_off.waits_for(entry.envelope, decision, is_in_turn) if may_wait else None
        if before is not None:
            self.put_off.put_behind(entry, before)
        elif is_here:
            self._take_over(entry, decision)
        elif decision.kind is Kind.REFUSE and entry.was_sent and _may_be_there(entry, decision):
            return  # its node may have it, so it must not be refused
        elif decision.kind is Kind.REFUSE or self._goes_back(entry, decision):
            self.tailback.refuse_entry(entry, refusal_by(decision))
        else:
            self.send_on(entry, decision)

    def _goes_back(self, entry: PendingForward, decision: Decision) -> bool:
        """Return whether to hand the message back to the node that forwarded it."""
        is_to_stay = entry.is_kept or entry.was_sent or entry.is_given
        return not is_to_stay and turns_back(decision, entry.origin)

    def _take_over(self, entry: PendingForward, decision: Decision) -> None:
        """Accept an entry, as this node is its only master after all."""
        self.marking.decided(entry, decision)
        envelope = self.marking.here(entry)
        self.onward.remove_entry(entry)
        hop = entry.hops[0]

        def answered(answer: Answer) -> None:
            self.tailback.record_final_answer(entry, hop, answer)

        for first, last in [*entry.open]:  # a copy, as an immediate answer shortens it
            self.here.take_over(envelope.part(first, last), entry.origin, decision.stands_for, answered)

    def _retry_deferred(self) -> None:
        """Decide again on deferred entries that are due, and on all entries once loops are final again."""
        for entry in self.put_off.take_due():
            decision = self.deciding.decide(entry.envelope)
            self.rulings.file(entry, self.deciding.question(entry.envelope), decision)
            self.apply_decision(entry, decision)
        if 0.0 < self.deciding.holds_until <= self._context.clock.now:
            self.deciding.holds_until = 0.0
            self.decide_again()

    def find_routes(self) -> None:
        """Review all entries once the other nodes had time to appear, and ask for routes to unknown ones."""
        if self._neighbours.is_settled() and not self._settled:
            self._settled = True
            self.decide_again()
        for node in [h for h in self.onward.hops() if h and not (self._nodes.is_known(h) or is_site(h))]:
            self._nodes.ask_way(node)  # no event reports when it becomes reachable

    def tick(self) -> None:
        """Continue an unfinished review, retry deferred entries, send due warnings, and expire messages."""
        if self.rulings.is_open:
            self._continue_review()
        self._retry_deferred()
        self.tailback.tick()


def turns_back(decision: Decision, origin: Origin) -> bool:
    """Return whether to hand a message in a routing loop back to its origin, as the loop may be temporary.

    The node that applies new rules last is the first to see that the loop has ended. A peer of an earlier
    release would take the return for a final answer, so nothing is returned to such a peer.
    """
    return decision.code == CHANGING and DIRTY in origin.features()


def refusal_by(decision: Decision) -> PublishRefused:
    why = decision.why
    if decision.code != UNREACHABLE:  # else it begins with the name of a node or site
        why = why[:1].upper() + why[1:]
    hints = {UNREACHABLE: "See `mesh relay ls`.", UNKNOWN: "See `mesh ls`."}
    return PublishRefused(f"{why}.", hint=hints.get(decision.code, "See `mesh route`."), code=decision.code)


def _route(decision: Decision) -> tuple[Kind | None, tuple[str, ...]]:
    return course_of(decision)[0], decision.hops


def _address(entry: PendingForward, to_master: bool) -> None:
    """Record in the route whether the next hop is a master (law 5 of the mapping)."""
    *before, mine = entry.envelope.route
    stratum = TO_MASTER if to_master else 0
    if mine.stratum != stratum:
        entry.envelope = replace(entry.envelope, route=(*before, replace(mine, stratum=stratum)))


def _may_be_there(entry: PendingForward, decision: Decision) -> bool:
    """Return whether a refusal is not final for a message that was sent, as its next hop may have it.

    For a message of another site, a refusal for an unknown node is not final either. A refusal is final if
    the other site is no longer configured.
    """
    is_kept_abroad = decision.code == UNKNOWN and is_foreign(entry.envelope.sender)
    is_for_now = decision.code in MAY_BE_THERE and not decision.is_final
    return is_for_now or is_kept_abroad
