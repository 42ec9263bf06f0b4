"""Delivers replies to clients of this node, even after a reconnect."""

from __future__ import annotations

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.session import REPLIES, Session, feed_key
from mesh.kernel.subscribers.sessions import Sessions
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import Envelope


class RequestFeeds:
    """The reply feed of each session that has sent a request."""

    def __init__(self, context: NodeContext, sessions: Sessions) -> None:
        self._context = context
        self._sessions = sessions

    def open_feed(self, session: Session) -> None:
        """Create the feed for replies to this session, if there is none."""
        if REPLIES not in session.feeds:
            feed = session.feeds[REPLIES] = self._make(session)
            self._connect(session, feed)

    def _make(self, session: Session) -> Feed:
        def send(feed: Feed, slice_: EnvelopeSlice) -> None:
            self._context.out.push_slice(session.outlet, feed, slice_)

        key = feed_key(session.stream, REPLIES)
        return Feed(key, self._context.settings.credit, send, lambda stored: None)

    def resume(self, session: Session) -> None:
        if REPLIES in session.feeds:
            self._connect(session, session.feeds[REPLIES])

    def _connect(self, session: Session, feed: Feed) -> None:
        if session.conn is not None:
            feed.connect(self._context.clock.now)

    def offer_reply(self, session: Session, envelope: Envelope) -> bool:
        """Offer a reply to the session, and return `False` if a full feed dropped it."""
        self.open_feed(session)
        feed = session.feeds[REPLIES]
        dropped = feed.dropped
        stored = StoredEnvelope(envelope, master=self._context.me.uuid, own=True)
        feed.offer(EnvelopeSlice(stored), self._context.clock.now)
        return feed.dropped == dropped
