"""Dirty reads: messages that local clients receive before their master accepts or refuses them."""

# Law 1: nothing depends on a dirty read. The master owes the message to all subscribers, and a subscriber
#        recognizes it by its number. If a dirty read is lost or does not fit, the master's message arrives.
# Law 2: a subscriber receives a stream in order. After a message without a dirty read, the subscriber gets no
#        later dirty read until the master has sent that message.
# Law 3: contents are not sent back to the node that holds them, see mesh/routing/heldbodies.py.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from mesh.kernel.context.component import Component
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.router import Router
from mesh.mapping.decision import Decision
from mesh.mapping.mapping import Mapping
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.heldbodies import HeldBodies
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.commands import Answer
from mesh.wire.envelope import PROVISIONAL, RETRACTED, Envelope
from mesh.wire.limits import DIRTY

KEPT = 3600.0  # s that an idle stream is remembered
LOOK = 60.0  # s between two sweeps, which may be long
FeedTargets = list[tuple[Feed, tuple[int, ...] | None]]  # indices of messages; None = all


@dataclass(slots=True, eq=False)
class Lane:
    """The dirty reads of one stream in one domain.

    `last` is the highest number that this node has forwarded, `back` the highest that it has received from
    the master. `missed` has, by subscriber, the highest number that was not delivered as a dirty read.
    Messages that an earlier process forwarded count as not received.
    """

    last: int
    used: float
    back: int = 0
    missed: dict[Feed, int] = field(default_factory=dict)


class DirtyReads(Component):
    """The dirty reads of one node.

    `speaks(feed)` returns whether a subscriber supports them.
    """

    def __init__(
        self, context: NodeContext, router: Router, mapping: Mapping, speaks: Callable[[Feed], bool]
    ) -> None:
        self._context = context
        self._router = router
        self._mapping = mapping
        self._knows = speaks
        self._bodies = HeldBodies()
        self._lanes: dict[tuple[bytes, str], Lane] = {}
        self._looked = 0.0

    def features(self) -> Sequence[str]:
        return (DIRTY,)

    def on_second(self) -> None:
        if self._context.clock.now - self._looked < LOOK:
            return
        self._looked = self._context.clock.now
        self._bodies.forget_old(self._context.clock.now)
        for at, lane in list(self._lanes.items()):
            if self._context.clock.now - lane.used >= KEPT:
                del self._lanes[at]
            for feed in [feed for feed in lane.missed if feed.closed]:
                del lane.missed[feed]

    # --- towards a master -------------------------------------------------------------------------------

    def goes(self, e: Envelope, decision: Decision) -> bool:
        """Return whether the rule and the subscribers of a forwarded envelope allow a dirty read.

        If they do, the envelope is offered to the subscribers. Either way it is recorded as forwarded, unless
        it is a direct message, which is never a dirty read.
        """
        if e.to:
            return False
        targets = self._targets(e)
        is_dirty = bool(targets) and not decision.copies and self._mapping.is_dirty(e, decision.node)
        self._record_forwarded(e, targets, is_dirty)
        return is_dirty

    def pass_over(self, e: Envelope) -> None:
        """Record an envelope of a transaction as forwarded. It is no dirty read, as its commit may fail."""
        if not e.to:
            self._record_forwarded(e, self._targets(e), is_dirty=False)

    def _record_forwarded(self, e: Envelope, targets: FeedTargets, is_dirty: bool) -> None:
        lane = self._lanes.get((e.stream, e.domain))
        if lane is None:
            lane = self._lanes[e.stream, e.domain] = Lane(e.first - 1, self._context.clock.now)
        self._offer_dirty(lane, e, targets, is_dirty)
        lane.last, lane.used = e.last, self._context.clock.now

    def _targets(self, e: Envelope) -> FeedTargets:
        """Return the matching local subscribers that support dirty reads and are not joining."""
        joining = self._router.joining
        return [
            (feed, indices)
            for feed, indices in self._router.clients.plan(e)
            if self._knows(feed) and not joining.is_joining(feed)
        ]

    def _offer_dirty(self, lane: Lane, e: Envelope, targets: FeedTargets, is_dirty: bool) -> None:
        """Offer a dirty read to the subscribers that have received everything before it.

        The envelope counts as missed by the other subscribers, and without `is_dirty` by all.
        """
        stored = StoredEnvelope(replace(e, flags=e.flags | PROVISIONAL), master=self._context.me.uuid)
        for feed, indices in targets:
            is_next = is_dirty and lane.missed.setdefault(feed, lane.last) <= lane.back
            if not (is_next and feed.offer_now(EnvelopeSlice(stored, indices), self._context.clock.now)):
                lane.missed[feed] = e.last

    def retract_refused(self, e: Envelope, answer: Answer) -> None:
        """Retract messages that their master refused, at local subscribers that support dirty reads."""
        part = e.part(answer.first, answer.last)
        flags = part.flags | RETRACTED
        stored = StoredEnvelope(
            replace(part, sizes=0, props=0, body=b"", flags=flags, expires=0), master=self._context.me.uuid
        )
        for feed, indices in self._targets(part):
            feed.offer(EnvelopeSlice(stored, indices), self._context.clock.now)

    def hold_body(self, e: Envelope) -> Envelope:
        """Hold an envelope's body here, and return the envelope as it is sent to a master with dirty reads.

        If the body cannot be held, the envelope is returned unchanged.
        """
        return self._bodies.hold_body(e, self._context.clock.now) or e

    # --- items of masters -------------------------------------------------------------------------------

    def whole(self, item: Envelope) -> Envelope | None:
        """Return an item with its contents, which were held here, or `None` if they were forgotten."""
        found = self._bodies.whole(item)
        if found is not None:
            self._context.counters.add_count("confirmed", found.count)
            self._context.counters.add_count("confirmed_bytes", len(found.body))
        return found

    def record_delivery(self, e: Envelope) -> None:
        """Record an envelope that its master has sent."""
        if (lane := self._lanes.get((e.stream, e.domain))) is not None:
            lane.back = max(lane.back, e.last)
