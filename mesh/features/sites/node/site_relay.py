"""Site relay at a master: keeps messages for other sites until the sites have sent the final answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from mesh.features.sites.node.gateway_notes import GatewayNotes
from mesh.features.sites.node.outbound_sites import Outbound, OutboundSites
from mesh.features.sites.node.site_sender import SiteSender
from mesh.features.sites.node.site_sinks import SiteSinks
from mesh.features.sites.node.sitefeed import SiteFeed
from mesh.features.sites.node.transfer_marks import TransferMarks
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.facts import Hearing, SettingsRead, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.router import Router
from mesh.printable import count
from mesh.routing.overflow import Credit
from mesh.routing.paging import Paging
from mesh.routing.retained_value import RetainedValue
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.snapshots.waiting import Waiting
from mesh.wire.envelope import Envelope
from mesh.wire.limits import STAYS
from mesh.wire.replies import Depth


class SiteRelay(Component):
    """Component for the configured sites: creates and closes their feeds, and reports their backlogs.

    `released` is called with stored envelopes that are not needed any longer.
    """

    def __init__(
        self,
        context: NodeContext,
        router: Router,
        notes: GatewayNotes,
        released: Callable[[StoredEnvelope], None],
        paging: Paging,
        marking: TransferMarks,
        outbound: OutboundSites,
        sinks: SiteSinks,
        sender: SiteSender,
    ) -> None:
        self._context = context
        self._router = router
        self._notes = notes
        self._released = released
        self._paging = paging
        self._marking = marking
        self._outbound = outbound
        self._sinks = sinks
        self._sender = sender
        self._adopt()

    def _feed(self, site: str, size: int) -> SiteFeed:
        context, s, count = (
            self._context,
            self._context.settings,
            self._context.counters.loss_counter(f"site/{site}"),
        )

        def lost(envelope: Envelope, why: str, messages: int) -> None:
            count(envelope, why, messages)
            if why != "EXPIRED":
                self._marking.dropped(site, messages)
                self._outbound.by_name[site].untold += messages

        return SiteFeed(
            site,
            Credit(s.window_bytes, s.window_count, size),
            self._sender.add_unsent,
            self._released,
            s.backlog_bytes,
            lambda: context.clock.believed,
            paging=self._paging,
            lost=lost,
            passes=lambda first, last: self._marking.passes(site, first, last),
        )

    def features(self) -> Sequence[str]:
        return (STAYS,)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(SettingsRead, lambda _: self._resettle()),)

    @property
    def sites(self) -> Collection[str]:
        """The sites to which messages may leave from here."""
        return self._outbound.by_name.keys()

    def has_way(self, site: str) -> bool:
        """Return whether a gateway of this site is linked with that site."""
        return site in self._outbound.by_name and bool(self._notes.notes_of(site))

    def is_through(self, site: str) -> bool:
        """Return whether everything that waited for the site has left; False for an unknown site."""
        return site in self._outbound.by_name and self._outbound.by_name[site].feed.is_through

    def is_coming(self, site: str, value: RetainedValue) -> bool:
        """Return whether that value is already owed to the site."""
        e = value.envelope
        return self._outbound.by_name[site].feed.in_flight.is_open(e.stream + e.domain.encode(), value.number)

    def send_envelopes(self, site: str, stream: bytes, envelopes: Sequence[Envelope]) -> None:
        """Send envelopes that another component keeps.

        The caller checks that a gateway is linked with the site.
        """
        if envelopes:
            way = self._notes.choose_gateway(site, stream)
            assert way is not None  # the caller has checked for a route
            self._sender.ship(site, way, envelopes)

    def depth(self, site: str) -> Depth:
        """Return the count, size and age of the messages that wait for the site or are unanswered."""
        return self._outbound.depth(site, self._context.clock.believed)

    def waiting(self, names: Collection[str]) -> Iterator[Waiting]:
        for site in self._outbound.by_name:
            depth = self.depth(site)
            yield Waiting(f"site/{site}", depth.messages, depth.bytes, depth.age)

    def holds(self) -> int:
        return sum(feed.waiting_bytes for feed in self._outbound.feeds())

    def figures(self) -> dict[str, int | float]:
        feeds = self._outbound.feeds()
        return {
            "site_pending": sum(feed.pending for feed in feeds),
            "site_bytes": sum(feed.waiting_bytes for feed in feeds),
        }

    def start(self, beginning: Beginning) -> None:
        self._outbound.resume_feeds(beginning.rows("position"), beginning.image.next_position - 1)

    def on_restored(self) -> None:
        for feed in self._outbound.feeds():
            feed.resumed()

    # --- configured sites -------------------------------------------------------------------------------

    def _adopt(self) -> tuple[list[Outbound], list[Outbound]]:
        """Apply the sites of the settings, and return the added and the removed ones."""
        sizes, before = self._context.settings.site.outboxes, self._outbound.by_name
        self._sinks.apply_settings()
        now = {site: before.get(site) or Outbound(self._feed(site, size)) for site, size in sizes.items()}
        self._outbound.set_sites(now)
        for site, out in now.items():
            out.feed.set_limit(sizes[site], site in self._context.settings.site.rejecting)
        new = [out for site, out in now.items() if site not in before]
        return new, [out for site, out in before.items() if site not in now]

    def _resettle(self) -> None:
        """Apply new settings: a new site is owed the messages accepted from now on, a removed site none."""
        new, gone = self._adopt()
        for out in gone:
            self._give_up(out.feed)
        for out in new:
            out.feed.position = self._router.shelf.next_position - 1
            self._notes.read_notes(out.feed.site)
            self._outbound.write_position(out.feed)

    def _give_up(self, feed: SiteFeed) -> None:
        if feed.pending:
            text = (
                f"discarded {count(feed.pending, 'message')} for site {feed.site}, which is no "
                "longer configured"
            )
            self._context.event("site", text, level="warning")
        self._outbound.close_feed(feed)

    def on_second(self) -> None:
        for site, out in self._outbound.by_name.items():
            self._notes.read_notes(site)  # keeps the gateways up to date
            self._outbound.expire(out, out.feed.drop_expired())
        self._expire_waiting()

    def _expire_waiting(self) -> None:
        def came() -> None:
            self._context.out.ending[self._expire_waiting] = None

        for feed in self._outbound.feeds():
            feed.expire_waiting(came)
