"""Creates the feeds of clients, and finds the feeds that do not keep up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import msgspec

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.privacy import as_seen_by
from mesh.kernel.subscribers.session import Session, feed_key, subscription_of
from mesh.kernel.subscribers.settling import FeedSettling
from mesh.patterns import SYSTEM
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.overflow import Overflow
from mesh.routing.paging import Paging
from mesh.wire.commands import Query
from mesh.wire.limits import GAPS

# Law 1: of system messages, a client receives only the parts that it may read.
# Law 2: a subscription that dropped messages and reads nothing for too long is reported by `take_stopped`,
#        unless its client has work, as the client's event loop may be blocked.


class ClientFeeds:
    """Creates the feeds of this node's sessions, and keeps track of feeds that overrun.

    `overran` has the feeds that dropped messages, with their sessions, until `take_stopped` removes them.
    """

    def __init__(self, context: NodeContext, settling: FeedSettling, paging: Paging) -> None:
        self._context = context
        self._released = settling.on_released
        self._paging = paging
        self.overran: dict[Feed, Session] = {}

    def new_feed(
        self,
        session: Session,
        number: int,
        policy: Overflow,
        max_queue: int,
        queries: Iterable[Query],
        end: Callable[[Session, Feed], None],
    ) -> Feed:
        """Return a new feed of a session. `end` is called if the feed overruns under the policy ERROR."""

        def send(feed: Feed, slice_: EnvelopeSlice) -> None:
            self._context.out.push_slice(session.outlet, feed, slice_)

        def send_shown(feed: Feed, slice_: EnvelopeSlice) -> None:
            envelope = as_seen_by(session, slice_.stored.envelope)
            if envelope is not slice_.stored.envelope:
                stored = msgspec.structs.replace(slice_.stored, envelope=envelope, frames=[])
                slice_ = EnvelopeSlice(stored, slice_.indices, gap=slice_.take_gap())
            send(feed, slice_)

        return Feed(
            feed_key(session.stream, number),
            replace(self._context.settings.credit, messages=max_queue),
            send_shown if any(query.text.startswith(SYSTEM) for query in queries) else send,
            self._released,
            policy,
            lambda: self._context.clock.believed,
            partial(self._on_overrun, session, end),
            self._paging,
            self._context.counters.loss_counter(session.text),
            partial(self._tell_gap, session),
        )

    def _on_overrun(self, session: Session, end: Callable[[Session, Feed], None], feed: Feed) -> None:
        if feed.overflow is Overflow.ERROR:
            end(session, feed)
        else:
            self.overran[feed] = session
            self._context.clock.wake(self._context.clock.now + self._context.settings.slow_consumer)

    def _tell_gap(self, session: Session, feed: Feed) -> None:
        if session.conn is not None and GAPS in session.conn.speaks:
            session.outlet.tell_gap(feed)
            self._context.out.outlets[session.outlet] = None

    def take_stopped(self) -> list[tuple[Session, Feed, float]]:
        """Remove and return overrun subscriptions that read nothing for too long, each with the time in s.

        Subscriptions with progress since their last drop are removed, too. Subscriptions of clients with work
        remain, as the event loops of such clients may be blocked.
        """
        stopped = []
        for feed, session in list(self.overran.items()):
            since, limit = feed.stands_since, self._context.settings.slow_consumer
            if since is None:
                del self.overran[feed]
            elif self._context.clock.now - since < limit:
                self._context.clock.wake(since + limit)
            elif not self._context.face.has_work(session):  # otherwise its event loop may be blocked
                del self.overran[feed]
                stopped.append((session, feed, self._context.clock.now - since))
        return stopped


def named(session: Session, feed: Feed) -> str:
    """Return the name of a subscription for error and event texts."""
    query = next(iter(feed.queries), None)
    return f"subscription {subscription_of(feed)} ({query.text if query else ''}) of {session.text}"
