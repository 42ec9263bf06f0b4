"""Accepts, forwards, defers or refuses an envelope that arrives from a client, a peer or another site."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from mesh.errors import LocalError
from mesh.hops import inside, is_foreign
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.router import Router
from mesh.kernel.forwarding.dirty_reads import DirtyReads
from mesh.kernel.forwarding.entry_routing import EntryRouting, refusal_by, turns_back
from mesh.kernel.forwarding.refusal_memory import RefusalMemory
from mesh.kernel.forwarding.route_decisions import TO_MASTER
from mesh.loglevels import ROUTES
from mesh.mapping.decision import Decision, Kind
from mesh.mapping.keyxml import check_xml
from mesh.mapping.mapping import Mapping
from mesh.names import OTHERS, PUTS
from mesh.patterns import SYSTEM
from mesh.remote_names import split
from mesh.reserved import reserved
from mesh.routing.origin import Local, Origin
from mesh.routing.verdict import refusal
from mesh.values import check_domain
from mesh.wire.envelope import HELD, LOCAL_ONLY, Envelope
from mesh.wire.properties import check_properties

# Law 1: each number is accepted here, becomes part of one entry, or is answered immediately.
# Law 2: the origin of a repeated envelope is added to its entries, and receives the earlier answers again.
# Law 3: a message that this node accepted as master before the rules changed is not forwarded, but accepted
#        again. Exceptions: direct messages, messages of other sites, and messages for several masters.


class Acceptance:
    """The first decision on each envelope: accept it here, forward it, let it wait, or refuse it."""

    def __init__(
        self,
        context: NodeContext,
        router: Router,
        mapping: Mapping,
        routing: EntryRouting,
        refused: RefusalMemory,
        provisional: DirtyReads,
        local: Local,
    ) -> None:
        self._context = context
        self._router = router
        self._mapping = mapping
        self._refused = refused
        self._provisional = provisional
        self._local = local
        self._onward, self._tailback = routing.onward, routing.tailback
        self._deciding, self._rulings = routing.deciding, routing.rulings
        self._put_off = routing.put_off
        self._send_on = routing.send_on
        self._accept_here, self._shared_stamp = routing.here.accept_envelope, routing.here.shared_stamp
        self.was_master = False  # accepted messages may now have other masters

    def publish_envelope(self, envelope: Envelope, was_sent: bool = False) -> None:
        """Process an envelope that a client of this node publishes.

        `was_sent` means that a node may have forwarded the envelope before, so that its master may have it
        already.
        """
        if envelope.flags & LOCAL_ONLY or (
            self._mapping.is_plain
            and not envelope.to
            and not self._onward.holds(envelope.stream, envelope.domain)
        ):
            self._accept_here(envelope, self._local)
        elif envelope.to[:6] == PUTS:
            self._context.face.puts[PUTS](envelope)
        elif envelope.to.startswith(OTHERS):
            self.accept_envelope(self._at_home(envelope), self._local, was_sent)
        else:
            self.accept_envelope(envelope, self._local, was_sent)

    def _at_home(self, envelope: Envelope) -> Envelope:
        site, name = split(envelope.to)
        return replace(envelope, to=name) if site == self._context.settings.site.name else envelope

    def put_in_queue(self, envelope: Envelope) -> None:
        """Accept a message for a queue here; messages for queues are never forwarded."""
        self._accept_here(envelope, self._local)

    def accept_envelope(self, envelope: Envelope, origin: Origin, was_sent: bool = False) -> None:
        known, missing = self._onward.split_known(envelope)
        if known and self._deciding.is_only_here(envelope):
            # This node's own copy does not wait for other masters: one of them may have sent the copy, and
            # may wait for this node.
            known, missing = [], [(envelope.first, envelope.last)]
        for entry in known:
            if origin.is_local and not entry.is_kept:
                self._tailback.keep_entry(entry)
            # The first origin keeps the message until it is answered.
            entry.add_origin(origin)
            self._tailback.repeat(entry, envelope)
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
            self._context.counters.add_count("refused", envelope.count)
            self._refused.answer_origin(origin, envelope, refusal(envelope, error))

    def _news(self, e: Envelope, first: int, last: int, origin: Origin) -> Iterator[Envelope]:
        """Yield the parts that were not refused before, and answer the origin again for the others."""
        for a, b, answer in self._refused.split_repeated(e, first, last, origin.is_local):
            if answer is None:
                yield e.part(a, b)
            else:
                self._refused.answer_origin(origin, e, answer)

    def _act(self, envelope: Envelope, origin: Origin, decision: Decision, was_sent: bool) -> None:
        is_here = decision.kind is Kind.HERE and not decision.copies
        before = self._put_off.waits_for(envelope, decision)
        if before is not None and self._onward.split_known(envelope)[0]:
            before = None  # this node's copy need not wait for other masters
        if is_here and before is None:
            is_shared = decision.is_shared or inside(envelope.route) is not envelope.route
            stamp = self._shared_stamp(envelope) if is_shared else 0
            self._accept_here(envelope, origin, stamp, decision.stands_for)
            return
        if self.was_master and self._answers(envelope, origin, decision, was_sent):
            return
        if self._tailback.returns.return_arrived(envelope, origin):
            return
        if decision.kind is Kind.REFUSE or turns_back(decision, origin):
            self._refuse(envelope, origin, decision)
            return
        question = self._deciding.question(envelope)
        hop = self._context.hop(TO_MASTER if decision.to_master else 0)  # the master sets the strata
        if envelope.flags & HELD:
            envelope = envelope.without(HELD)
        envelope = envelope.passed(hop, self._stamp(envelope, was_sent))
        entry = self._onward.add(envelope, origin, self._context.clock.now)
        if was_sent:
            entry.presume_sent()
        if origin.is_local and not envelope.to:
            self._router.cache.went(envelope)
        what = " ".join(filter(None, (envelope.keys[0], envelope.domain, envelope.to)))
        whom = ", ".join(decision.hops)
        self._context.out.log_line("debug", f"{what}: {decision.kind.value} {whom}: {decision.why}", ROUTES)
        if before is not None:
            self._put_off.put_behind(entry, before)
        else:
            entry.is_given = self._mapping.has_dirty and self._provisional.goes(envelope, decision)
            self._rulings.file(entry, question, decision)
            self._send_on(entry, decision)
        self._tailback.watch(entry)

    def _stamp(self, envelope: Envelope, was_sent: bool) -> int:
        """Return the timestamp of an envelope that arrives now.

        A resent message is not newer than a later one of its publisher, which waited here. Otherwise nodes
        that have missed a message of another publisher would keep another value of the topic.
        """
        stamp = self._context.clock.stamp()
        return min(stamp, self._onward.sent_after(envelope) or stamp) if was_sent else stamp

    def _refuse(self, envelope: Envelope, origin: Origin, decision: Decision) -> None:
        self._context.counters.add_count("refused", envelope.count)
        answer = refusal(envelope, refusal_by(decision))
        if origin.is_local:
            self._refused.answer_origin(origin, envelope, answer)
        else:  # the refusal is about the route of a peer's message, not about the message
            origin.answer(envelope.stream, answer)

    def _answers(self, e: Envelope, origin: Origin, decision: Decision, was_sent: bool) -> bool:
        """Accept again the messages that this node accepted before as master; return whether there were any.

        The new master would deliver these messages a second time. The other messages follow `decision`.
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
        mapping = self._mapping
        return mapping.has_several and any(len(mapping.holders(key, e)) > 1 for key in e.keys)
