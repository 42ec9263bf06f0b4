"""The other sites to which this master sends: their feeds, unsent slices, retries and stored positions."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from mesh.features.sites.node.site_in_flight import PartlySent
from mesh.features.sites.node.sitefeed import SiteFeed, site_key
from mesh.features.sites.node.transfer_marks import TransferMarks
from mesh.flow.backoff import Backoff
from mesh.flow.seldom import Seldom
from mesh.kernel.context.disk import Disk
from mesh.operations import Delete
from mesh.routing.log import position_key, stream_key
from mesh.wire.replies import Depth

TOLD_AGAIN = 60.0  # s between two warnings about a site that defers


@dataclass(slots=True)
class Outbound:
    """The state of sending to one site: its feed, unsent slices, and retries."""

    feed: SiteFeed
    unsent: dict[bytes, deque[PartlySent]] = field(default_factory=dict)  # by stream and domain
    pauses: Backoff[bytes] = field(default_factory=Backoff)  # by stream and domain
    untold: int = 0  # dropped messages not yet reported to the site
    warnings: Seldom = field(default_factory=lambda: Seldom(TOLD_AGAIN))  # about deferral


class OutboundSites:
    """The configured sites of this node as a master, and the positions from which they are owed messages."""

    def __init__(self, disk: Disk, marking: TransferMarks) -> None:
        self._disk = disk
        self._marking = marking
        self.by_name: dict[str, Outbound] = {}

    def set_sites(self, sites: dict[str, Outbound]) -> None:
        """Set the configured sites; the caller closes the feeds of those that are missing."""
        self.by_name = sites

    def feeds(self) -> list[SiteFeed]:
        return [each.feed for each in self.by_name.values()]

    def depth(self, site: str, wall: int) -> Depth:
        """Return the count, size and age of the messages that wait for the site or are unanswered.

        `wall` is the time in ns since 1970.
        """
        out = self.by_name.get(site)
        return out.feed.depth(wall) if out is not None else Depth()

    def resume_feeds(self, rows: Mapping[bytes, bytes], last: int) -> None:
        """Resume the feed of each site from its stored position, at the start.

        `rows` are the stored positions. The feed of a new site starts after `last`, the end of the log. The
        positions of sites that are no longer configured are deleted.
        """
        feeds = {feed.key: feed for feed in self.feeds()}
        for key, feed in feeds.items():
            position = int.from_bytes(rows[key]) if key in rows else last
            feed.resumes(position, self._marking.passed_over(feed.site))
            self.write_position(feed)
        for key in rows:
            if key[:1] == site_key("") and key not in feeds:
                self._disk.later("position", key, Delete("position", key))

    def write_position(self, feed: SiteFeed) -> None:
        """Store the position of a feed with the next commit."""
        self._disk.later("position", feed.key, position_key(feed, feed.position))
        self._marking.passed(feed.site, feed.passed_over.take_settled(feed.position))

    def close_feed(self, feed: SiteFeed) -> None:
        """Close the feed of a site that is no longer configured, and delete its rows."""
        feed.close()
        self._marking.passed(feed.site, feed.passed_over.take_settled(inf))
        self._marking.forget_site(feed.site)
        self._disk.later("position", feed.key, Delete("position", feed.key))

    def expire(self, out: Outbound, void: Sequence[PartlySent]) -> None:
        """Drop the slices of `void`, which have expired, from the feed and from the slices to be sent."""
        if not void:
            return
        before = out.feed.position
        out.feed.expire(void)
        for key in {stream_key(given.envelope) for given in void}:
            if left := [given for given in out.unsent.pop(key, ()) if given.left]:
                out.unsent[key] = deque(left)
            if key not in out.feed.in_flight.streams:
                out.pauses.drop(key)
        if out.feed.position != before:
            self.write_position(out.feed)
