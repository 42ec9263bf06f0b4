"""Detects topics that two sites have set, and keeps and reports the losing value."""

from __future__ import annotations

from hashlib import blake2b

from msgspec.structs import replace

from mesh.features.sites.model.conflicts import conflict_key
from mesh.features.sites.node.gateway_relay import GatewayRelay
from mesh.features.sites.node.lostvalue import LostValue, letter_of
from mesh.features.sites.node.site_sinks import SiteSinks
from mesh.features.sites.node.transfer_marks import TransferMarks
from mesh.flow.bounded import Bounded
from mesh.flow.seldom import Seldom
from mesh.hops import is_of
from mesh.kernel.context.component import Component
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.router import Router
from mesh.patterns import SYSTEM
from mesh.routing.retained_value import RetainedValue, last_values
from mesh.wire.envelope import ERASED, INITIAL, Envelope

KNOWN = 10_000  # topics whose values of other sites are remembered
A_SECOND, AT_ONCE = 50.0, 200.0  # values kept per second, and in a burst
TOLD_AGAIN = 60.0  # s until the next warning

# Law 1: a late value loses if it is older than the value of another site, unless that site knew it already.
# Law 2: `mesh.routing.retained_value.wins` decides which value wins, equally at all sites. A topic with
# publishers of one site is not examined.
# Law 3: for a topic without a master that all sites know, a gateway is the master of inbound messages. Of
# outbound messages it remembers only which value left.
# Law 4: the number of losing values kept and reported per second is bounded.


class SiteConflicts(Component):
    """Component that detects conflicts, at each master, and at gateways for topics without a master."""

    def __init__(
        self,
        context: NodeContext,
        router: Router,
        sinks: SiteSinks,
        marking: TransferMarks,
        transit: GatewayRelay,
    ) -> None:
        self._context = context
        self._router = router
        self._sinks = sinks
        self._marking = marking
        self._here = context.settings.site.name
        if self._here:
            router.log.retained.watch(self)
        transit.when_leaving(self.leaves)
        own = context.me.uuid + context.me.boot.to_bytes(8) + b"conflicts"
        self._stream = blake2b(own, key=context.settings.secret[:64], digest_size=16).digest()
        self._number = 0
        # (site, key, domain) -> timestamp of the value that was known when another site replaced it
        self._stood = Bounded[tuple[str, str, str], int](KNOWN)
        self._since = 0  # older values may be forgotten
        # For topics without a master: the values that left through this node, without contents, and when
        # values of other sites last arrived.
        self._left = Bounded[tuple[str, str], RetainedValue](KNOWN)
        self._arrived = Bounded[tuple[str, str], int](KNOWN)
        self._lost: list[LostValue] = []
        self._room = AT_ONCE
        self._filled = 0.0
        self._count = self._untold = 0
        self._warnings = Seldom(TOLD_AGAIN)

    def on_restored(self) -> None:
        self._since = self._context.clock.wall

    def figures(self) -> dict[str, int | float]:
        return {"site_conflicts": self._count}

    # --- finding ----------------------------------------------------------------------------------------

    def on_met(self, came: RetainedValue, stood: RetainedValue, stays: bool) -> None:
        """Examine two values of one topic: `came` arrived while `stood` was the current value.

        `stays` means that `stood` won.
        """
        if came.key.startswith(SYSTEM) or came.site(self._here) == stood.site(self._here):
            return
        if stays:
            self._outdone(came, stood)
            return
        if self._was_lacking(stood, came):
            self._add(LostValue(stood, came))
        self._knows(stood)

    def leaves(self, envelope: Envelope) -> None:
        """Examine an envelope that leaves for another site through this node."""
        if envelope.to or not is_of(self._here, envelope.sender) or envelope.flags & (INITIAL | ERASED):
            return
        for value in last_values(_outline(envelope)):
            topic = value.key, envelope.domain
            before = self._left.get(topic)
            if before is None or value.is_newer_than(before, self._here):
                self._left.keep(topic, value)
            stood = self._router.log.retained.get(*topic)
            # The publisher's node did not know the value that has arrived since.
            if stood is not None and value.envelope.sent < self._arrived.get(topic, 0):
                self._differ(stood, value)

    def on_passed(self, envelope: Envelope) -> None:
        """Examine an envelope of another site for which this node is the master here."""
        if envelope.to or envelope.flags & (INITIAL | ERASED):
            return
        # Receivers stamp later messages with a later time, but not with a future one after a jump of our
        # clock.
        at = min(envelope.route[-1].at, self._context.clock.wall)
        self._context.clock.heard_stamp(at)
        for value in last_values(envelope):
            topic = value.key, envelope.domain
            self._arrived.keep(topic, at)
            if left := self._left.get(topic):
                self._differ(value, left)

    def _differ(self, value: RetainedValue, left: RetainedValue) -> None:
        """Report `value` if it lost against a newer value of this site that leaves or has left."""
        if value.site(self._here) != left.site(self._here) and left.is_newer_than(value, self._here):
            self._outdone(value, left)

    def on_outdone(self, came: RetainedValue, stands: RetainedValue) -> None:
        """Examine an older value in a transfer from another site.

        The value may have arrived before, and be known to the winner. Values from before this process are
        ignored, as that cannot be decided for them.
        """
        is_told = came.envelope.sent > self._since and came.site(self._here) != stands.site(self._here)
        if is_told:
            self._outdone(came, stands)

    def _outdone(self, came: RetainedValue, stands: RetainedValue) -> None:
        """Report `came`, which is older than the current value, unless the winner knew it."""
        if came.envelope.sent > self._stood.get(self._topic(came), 0):
            self._add(LostValue(came, stands))
            self._knows(came)

    def _knows(self, value: RetainedValue) -> None:
        topic = self._topic(value)
        oldest = self._stood.keep(topic, max(value.envelope.sent, self._stood.get(topic, 0)))
        if oldest is not None:
            self._since = max(self._since, oldest[1])

    def _topic(self, value: RetainedValue) -> tuple[str, str, str]:
        return value.site(self._here), value.key, value.envelope.domain

    def _was_lacking(self, own: RetainedValue, theirs: RetainedValue) -> bool:
        """Return whether our value may have been dropped before it reached the other site."""
        site, since = theirs.site(self._here), self._marking.since(theirs.site(self._here))
        if own.site(self._here) != self._here or since is None or own.envelope.sent < since:
            return False
        return site in self._sinks.names(own.key, own.envelope.domain)

    # --- records ----------------------------------------------------------------------------------------

    def _add(self, lost: LostValue) -> None:
        self._count += 1
        self._room = min(AT_ONCE, self._room + A_SECOND * (self._context.clock.now - self._filled))
        self._filled = self._context.clock.now
        if self._room < 1.0:
            self._untold += 1
            return
        self._room -= 1.0
        self._lost.append(lost)
        self._context.out.ending[self._report_conflicts] = None

    def _report_conflicts(self) -> None:
        lost, self._lost = self._lost, []
        for each in lost:
            self._publish_lost(each)
        if self._warnings.allows(self._context.clock.now):
            self._context.event("site", self._text(lost[-1]), level="warning")

    def _text(self, lost: LostValue) -> str:
        topic = lost.value.key
        sites = f"{lost.value.site(self._here)} and {lost.winner.site(self._here)}"
        where = conflict_key(topic, lost.value.envelope.domain)
        more = f"; {self._count:,} such values so far" if self._count > 1 else ""
        unkept = f", of which {self._untold:,} exceeded the limit and were discarded" if self._untold else ""
        return f"{topic!r} was set by both {sites}: the older value is kept as {where!r}{more}{unkept}"

    def _publish_lost(self, lost: LostValue) -> None:
        self._number += 1
        key, domain = lost.value.key, lost.value.envelope.domain
        letter = letter_of(lost, self._here)
        envelope = letter.envelope(
            self._stream, self._number, conflict_key(key, domain), "", self._context.me.name
        )
        self._router.publish_here(self._stream, envelope, lambda answer: None)


def _outline(envelope: Envelope) -> Envelope:
    """Return the envelope without contents and route, to save memory."""
    return replace(envelope, sizes=0, body=b"", props=0, route=(), xml="")
