"""Replies on their way to clients here. They outlive a short reconnect, as all that a session is owed."""

from __future__ import annotations

from mesh.core.desk.desk import Desk
from mesh.core.subscribers.session import REPLIES, Session, feed_key
from mesh.core.subscribers.sessions import Sessions
from mesh.routing.feed import Feed
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.wire.envelope import Envelope


class RequestFeeds:
    """A feed of each session that has sent a request."""

    def __init__(self, desk: Desk, sessions: Sessions) -> None:
        self._desk = desk
        self._sessions = sessions

    def expect(self, session: Session) -> None:
        """It waits for replies from now on."""
        if REPLIES not in session.feeds:
            feed = session.feeds[REPLIES] = self._make(session)
            self._connect(session, feed)

    def _make(self, session: Session) -> Feed:
        def send(feed: Feed, portion: Portion) -> None:
            self._desk.push(session.outlet, feed, portion)

        key = feed_key(session.stream, REPLIES)
        return Feed(key, self._desk.settings.credit, send, lambda parcel: None)

    def back(self, session: Session) -> None:
        """It is connected again: what waits may go out."""
        if REPLIES in session.feeds:
            self._connect(session, session.feeds[REPLIES])

    def _connect(self, session: Session, feed: Feed) -> None:
        if session.conn is not None:
            feed.connect(self._desk.now)

    def offer(self, session: Session, envelope: Envelope) -> bool:
        """A reply for it. False: there is no room for it, and it is dropped."""
        self.expect(session)
        feed = session.feeds[REPLIES]
        dropped = feed.dropped
        parcel = Parcel(envelope, master=self._desk.me.uuid, own=True)
        feed.offer(Portion(parcel), self._desk.now)
        return feed.dropped == dropped
