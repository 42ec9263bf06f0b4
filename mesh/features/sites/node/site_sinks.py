"""Selects the other sites that are owed a published message, and refuses a message without room for one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mesh.errors import SiteFull
from mesh.features.sites.node.outbound_sites import OutboundSites
from mesh.features.sites.node.passing import may_leave
from mesh.features.sites.node.sitefeed import SiteFeed
from mesh.kernel.context.component import Component
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import MessageSinks
from mesh.patterns import SYSTEM
from mesh.routing.sink import Targets
from mesh.routing.subscriptions import by_taker
from mesh.wire.envelope import Envelope

KNOWN = 10_000  # topics whose sites are cached


class SiteSinks(Component):
    """The feeds of other sites as receivers of the messages that this master accepts.

    The selection of sites by topic is cached until the settings change.
    """

    def __init__(self, context: NodeContext, outbound: OutboundSites) -> None:
        self._context = context
        self._outbound = outbound
        self._selection = context.settings.site.selection
        self._known: dict[tuple[str, str], tuple[SiteFeed, ...]] = {}

    def message_sinks(self) -> Sequence[MessageSinks]:
        return (self,) if self._context.settings.site.name else ()

    def apply_settings(self) -> None:
        """Apply the selection of the settings; the caller applies the sites."""
        self._selection = self._context.settings.site.selection
        self._known.clear()

    def plan(self, envelope: Envelope) -> Targets:
        """Return the feeds of the sites that are owed messages of the envelope. Raises: SiteFull.

        Each feed is paired with the indices of its messages; `None` means all messages.
        """
        if not may_leave(envelope) or f"/client/{SYSTEM}" in envelope.sender:
            return []
        by_row = [self.match(key, envelope.domain) for key in envelope.keys]
        found: Targets = [(feed, None) for feed in by_row[0]]
        if len(by_row) > 1:
            found = list(by_taker(envelope, by_row))
        if self._context.settings.site.rejecting:
            self._check_room(envelope, {feed for row in by_row for feed in row})
        return found

    def _check_room(self, envelope: Envelope, feeds: Iterable[SiteFeed]) -> None:
        """Raise SiteFull if a site with the `rejecting` setting has no room left."""
        for feed in feeds:
            if feed.rejects and not feed.has_room(envelope.persistent):
                me, is_for_persistent = self._context.me.name, feed.has_room(True)
                kind = "transient " if is_for_persistent else ""
                what = (
                    f"{me} has {feed.waiting_bytes:,} waiting bytes for the site {feed.site}, and no room "
                    f"for another {kind}message."
                )
                otherwise = (
                    "publish it as persistent"
                    if is_for_persistent
                    else f"raise max_bytes in [sites.{feed.site}] of {me}"
                )
                hint = f"Publish it again later (see `mesh why site {feed.site}`), or {otherwise}."
                raise SiteFull(what, hint=hint)

    def match(self, key: str, domain: str) -> tuple[SiteFeed, ...]:
        """Return the feeds of the sites to which messages of the topic are sent."""
        found = self._known.get((domain, key))
        if found is None:
            if len(self._known) >= KNOWN:
                self._known.clear()
            sites, names = self._outbound.by_name, self._selection.sites_for(domain, key)
            found = tuple([sites[name].feed for name in names if name in sites])
            self._known[domain, key] = found
        return found

    def names(self, key: str, domain: str) -> list[str]:
        return [feed.site for feed in self.match(key, domain)]
