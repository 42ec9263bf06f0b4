"""Admits messages from gateways of other sites.

An admitted message is then processed as if it had been published here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace as replace_name

from msgspec.structs import replace

from mesh.errors import LocalError, MessageTooLarge, NotConnected, PublishRefused, TailBackFull
from mesh.features.sites.node.answering import Answering, FromSite
from mesh.features.sites.node.arrivals import NeighbourSite, sender_of, unfit
from mesh.features.sites.node.client_locator import ClientLocator
from mesh.features.sites.node.passing import turn_of
from mesh.features.sites.node.site_connection import SiteConnection
from mesh.features.sites.node.site_pass_through import SitePassThrough
from mesh.features.sites.wire import Relay
from mesh.flow.seldom import Seldom
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.forwarding.forwarder import Forwarder
from mesh.kernel.subscribers.facts import MissedFromSite
from mesh.names import SessionName
from mesh.printable import count
from mesh.remote_names import WAY_LOST, split
from mesh.routing.verdict import refusal
from mesh.site_policy.refusals import FOR_NOW
from mesh.streams.deferred_numbers import DeferredNumbers
from mesh.wire.content_limit import short_parts
from mesh.wire.envelope import Envelope

TOLD_AGAIN = 60.0  # s between two warnings about messages that a site dropped
STREAMS = 4096  # streams whose deferred messages are remembered

# Rule 1: an envelope that may not enter is refused, and nothing else is done with it.
# Rule 2: waiting messages of other sites take at most half of the outbound buffer.
# Rule 3: the other site keeps every message until its final answer, so this node may have it in memory only.


class SiteIngress(Component):
    """Component that admits messages from other sites."""

    def __init__(
        self,
        context: NodeContext,
        forwarder: Forwarder,
        answering: Answering,
        through: SitePassThrough,
        locator: ClientLocator,
    ) -> None:
        self._context = context
        self._through = through
        self._locator = locator
        self._forwarder = forwarder
        self._answering = answering
        self._turns = DeferredNumbers(STREAMS)
        self._dropped: dict[str, int] = {}  # by site, since the start
        self._warnings: dict[str, Seldom] = {}  # by site

    def from_gateways(self) -> Sequence[HandlerEntry]:
        return (on_command(Relay, self._relayed),)

    def _relayed(self, conn: Conn, gate: SiteConnection, command: Relay, envelopes: list[Envelope]) -> None:
        origin, s = self._answering.origin_of(gate, conn), self._context.settings.site
        came = NeighbourSite(gate.name, self._context.me.name, s.accepting, s.ways)
        if command.site != s.name:
            self._through.forward(origin, came, command, envelopes)
            return
        if command.dropped:
            site = sender_of(envelopes[0], came) if envelopes else came.name
            self._has_gap(site, came.name, command.dropped)
        for envelope in envelopes:
            error = unfit(envelope, came, s.name, self._context.clock.wall)
            renamed = replace(envelope, stream=self._answering.aliases.here(gate.name, envelope.stream))
            if envelope.to and error is None:
                renamed = replace(renamed, to=self._place(envelope))
                error = None if renamed.to else self._nowhere(envelope)
            error = self._in_turn(renamed, error)
            if error is not None:
                self._refuse(origin, renamed, error)
                continue
            for part in self._short(origin, renamed):
                self._forwarder.accept_from_site(part, origin)

    def _place(self, envelope: Envelope) -> str:
        """Return the receiver of a direct message, as this site names it; "" if it is connected nowhere.

        A client without a node is looked up, unless the domain's rules name its node. While the nodes are
        being asked, the result has no node.
        """
        to = SessionName.parse(envelope.to)
        here = replace_name(to, site=None)
        if to.node is None and not envelope.domain:
            node = self._locator.node_of(to)
            if node == "":
                return ""
            here = here.at(node) if node else here
        return str(here)

    def _nowhere(self, envelope: Envelope) -> NotConnected:
        site, name = split(envelope.to)
        hint = f"To queue it at a node: force_queuing=True and /site/{site}/node/NAME/{name}"
        return NotConnected(f"{name} is connected at no node of {site}.", hint=hint)

    def _has_gap(self, site: str, neighbour: str, dropped: int) -> None:
        total = self._dropped[site] = self._dropped.get(site, 0) + dropped
        self._context.facts.publish_fact(MissedFromSite(neighbour, dropped))
        if self._warnings.setdefault(site, Seldom(TOLD_AGAIN)).allows(self._context.clock.now):
            text = f"{site} discarded {count(total, 'message')} for this site: its buffer was full"
            self._context.event("site", text, level="warning")

    def _in_turn(self, envelope: Envelope, error: LocalError | None) -> LocalError | None:
        """Return why the envelope is refused now, or None.

        After a temporary refusal, later messages of the publisher wait until the refused one is sent again.
        The same holds for a direct message that finds no room, because it may have been accepted before.
        """
        if error is not None and (envelope.to or error.code not in FOR_NOW):
            return error
        who, now = turn_of(envelope), self._context.clock.now
        is_early = self._turns.is_early(who, envelope.first, envelope.last, envelope.low, now)
        if error is None and is_early:
            me = self._context.me.name
            error = TailBackFull(f"{me} must accept an earlier deferred message of the same publisher first.")
        elif error is None and self._is_sought(envelope):
            error = TailBackFull(f"{self._context.me.name} asks its nodes for {envelope.to}.")
        elif error is None and self._is_full(envelope):
            error = self._no_room()
        if error is not None:
            self._turns.defer(who, envelope.first, now)
            if envelope.to:
                return PublishRefused(error.what, hint=error.hint, code=WAY_LOST)
        return error

    def _is_sought(self, envelope: Envelope) -> bool:
        """Return whether the nodes are being asked for the receiver of the envelope."""
        return bool(envelope.to) and not envelope.domain and not SessionName.parse(envelope.to).is_absolute

    def _no_room(self) -> TailBackFull:
        me = self._context.me.name
        return TailBackFull(
            f"The outbound buffer of {me} is half full; the rest is reserved for its own clients.",
            hint=f"See `mesh ls` at {me} for unreachable masters.",
        )

    def _is_full(self, envelope: Envelope) -> bool:
        """Return whether the half of the outbound buffer for other sites has no room for the envelope.

        An envelope that is already in the buffer always passes.
        """
        return self._forwarder.tailback.is_half_full() and not self._forwarder.onward.split_known(envelope)[0]

    def _short(self, origin: FromSite, envelope: Envelope) -> Iterator[Envelope]:
        most, here = self._context.settings.max_content, self._context.settings.site.name

        def too_long(part: Envelope) -> None:
            me = self._context.me.name
            what = f"The message is too large: {me} accepts at most {most:,} bytes per message."
            hint = f"Raise `limits.max_content` at {here}, or send the content in parts."
            self._refuse(origin, part, MessageTooLarge(what, hint=hint))

        return short_parts(envelope, most, too_long)

    def _refuse(self, origin: FromSite, envelope: Envelope, error: LocalError) -> None:
        self._context.counters.add_count("refused", envelope.count)
        origin.answer(envelope.stream, refusal(envelope, error))
