"""What do the sessions of this node subscribe to, and what are they given first?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mesh.core.conn import Conn
from mesh.core.demand import Demand
from mesh.core.desk import Desk
from mesh.core.inboxes import INBOX, Inboxes
from mesh.core.lookup import Found, Lookup
from mesh.core.questions import Questions
from mesh.core.records import Record, write_record
from mesh.core.router import Router
from mesh.core.session import Session, feed_key, subscription_of
from mesh.errors import BadQuery, LocalError, MeshError, RemoteError, SlowConsumer, StoreFull
from mesh.routing.feed import Feed
from mesh.routing.log import position_key
from mesh.routing.overflow import Overflow, overflow
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.routing.subscriptions import check_query
from mesh.store.base import Delete, Put
from mesh.wire.commands import Ack, Ended, Query, Reply, Subscribe, Unsubscribe


class Subscribing:
    """Feeds of sessions; each is known to the router, and wanted from other nodes."""

    def __init__(
        self,
        desk: Desk,
        router: Router,
        demand: Demand,
        questions: Questions,
        lookup: Lookup,
        inboxes: Inboxes,
    ) -> None:
        self._desk = desk
        self._router = router
        self._demand = demand
        self._questions = questions
        self._lookup = lookup
        self._inboxes = inboxes
        self._lacking: dict[Feed, tuple[Session, Query]] = {}  # have not got all the last values yet
        self.overran: dict[Feed, Session] = {}  # something was dropped for it, since it was last looked at
        # Set by the node: whom to tell of a parcel that nobody needs, and how far we have other logs.
        self.released: Callable[[Parcel], None] = lambda parcel: None
        self.received: Callable[[], dict[bytes, int]] = dict

    def ack(self, session: Session, command: Ack) -> None:
        session.outlet.acked(command.have)
        self._desk.outlets[session.outlet] = None
        for number, total in command.taken:
            feed = session.feeds.get(number)
            if feed is not None:  # else it was just unsubscribed
                before = feed.position
                feed.taken(total, self._desk.now)
                if feed.position != before:
                    self._router.log.later("position", feed.key, position_key(feed, feed.position))

    def subscribe(self, session: Session, command: Subscribe) -> None:
        if command.subscription == INBOX or command.query.kind == "inbox":
            self._open_inbox(session, command)
            return
        if command.subscription in session.ended:
            self._desk.send(session.conn, session.ended[command.subscription])
            return
        query = check_query(command.query)
        feed = session.feeds.get(command.subscription)
        if feed is None:
            feed = self._new_feed(session, command, query)
        elif query not in feed.queries:
            raise RemoteError(f"subscription {command.subscription} of {session.name} is in use")
        feed.connect(self._desk.now)
        wanted = command.initial and not command.resumed
        conn = session.conn

        def known() -> None:
            self._questions.confirm(
                self._demand.unconfirmed(),
                lambda: self._subscribed(session, feed, query, conn, command.request, wanted),
            )

        # With a full disk it is made all the same, and written when there is room again.
        self._router.commit((), lambda error: self._questions.when_settled(known))

    def _open_inbox(self, session: Session, command: Subscribe) -> None:
        if command.subscription != INBOX or command.query.kind != "inbox":
            raise BadQuery("subscription 0 is the inbox, and no other is.", hint="See docs/wire.md.")
        self._inboxes.opened(session)
        self._desk.send(session.conn, Reply(command.request, {"subscription": INBOX}))

    def _subscribed(
        self, session: Session, feed: Feed, query: Query, conn: Conn | None, request: int, initial: bool
    ) -> None:
        """Every node that can be reached knows of it; now the values that are there already."""

        def reply() -> None:
            self._desk.send(conn, Reply(request, {"subscription": subscription_of(feed)}))

        if not initial:
            reply()
            return

        self._last_values(session, feed, query, reply)

    def _last_values(
        self, session: Session, feed: Feed, query: Query, done: Callable[[], None] = lambda: None
    ) -> None:
        """Give a subscription the values that are there already. Those of masters that cannot be reached
        now come when they can be (see `review`)."""

        def deliver(found: Found) -> None:
            self._router.initial(feed, [(value.master, value.envelope) for value in found.values])
            session.outlet.flush(self._desk.raw)
            if found.away and not feed.closed:
                self._lacking[feed] = (session, query)
            done()

        self._router.joining(feed)
        self._lookup.get(query, deliver, after=True)

    def review(self) -> None:
        """Nodes have come or gone: can anybody be given now what could not be had before?"""
        for feed, (session, query) in list(self._lacking.items()):
            if feed.closed or self._demand.is_reachable(query):
                del self._lacking[feed]
                if not feed.closed:
                    self._questions.confirm(
                        self._demand.unconfirmed(),
                        lambda s=session, f=feed, q=query: self._last_values(s, f, q),  # type: ignore[misc]
                    )

    def _new_feed(self, session: Session, command: Subscribe, query: Query) -> Feed:
        most = self._desk.settings.max_subscriptions
        if len(session.feeds) >= most:
            raise LocalError(
                f"{session.name} has {most} subscriptions.", hint="Use patterns.", code="TOO_MANY"
            )
        policy = overflow(command.overflow)
        feed = self._make_feed(session, command.subscription, policy, command.max_queue)
        feed.floors = {master: position for master, position in self.received().items() if position}
        self._add_query(feed, query, self._router.log.next_position)
        self._router.log.later("feed", feed.key, Put("feed", feed.key, write_record(session.text, feed)))
        return feed

    def _make_feed(self, session: Session, number: int, policy: Overflow, max_queue: int) -> Feed:
        def send(feed: Feed, portion: Portion) -> None:
            self._desk.push(session.outlet, feed, portion)

        def overran(feed: Feed) -> None:
            if feed.overflow is Overflow.ERROR:
                self._end(session, feed)
            else:
                self.overran[feed] = session
                self._desk.wake(self._desk.now + self._desk.settings.slow_consumer)

        feed = Feed(
            feed_key(session.stream, number), replace(self._desk.settings.credit, messages=max_queue), send,
            lambda parcel: self.released(parcel), overflow=policy, wall=lambda: self._desk.believed,
        )  # fmt: skip
        feed.overran = overran
        session.feeds[number] = feed
        return feed

    def named(self, session: Session, feed: Feed) -> str:
        """As a person may know it."""
        query = next(iter(feed.queries), None)
        return f"subscription {subscription_of(feed)} ({query.text if query else ''}) of {session.text}"

    def take_stopped(self) -> list[tuple[Session, Feed, float]]:
        """Subscriptions that have stood still for too long, and how long."""
        stopped = []
        for feed, session in list(self.overran.items()):
            since, limit = feed.stands_since, self._desk.settings.slow_consumer
            if since is None:
                del self.overran[feed]
            elif self._desk.now - since >= limit:
                del self.overran[feed]
                stopped.append((session, feed, self._desk.now - since))
            else:
                self._desk.wake(since + limit)
        return stopped

    def _end(self, session: Session, feed: Feed) -> None:
        """It wanted to end rather than to miss anything."""
        number, text = subscription_of(feed), f"{self.named(session, feed)} did not keep up."
        self.drop(session, number)
        session.ended[number] = Ended(number, SlowConsumer.code, text)
        self._desk.send(session.conn, session.ended[number])

    def _add_query(self, feed: Feed, query: Query, since: int) -> None:
        feed.queries[query] = since
        self._router.clients.add(feed, query)
        self._demand.want(query)

    def unsubscribe(self, session: Session, command: Unsubscribe) -> None:
        session.ended.pop(command.subscription, None)
        known = command.subscription in session.feeds
        if known:
            self.drop(session, command.subscription)
        conn, reply = session.conn, Reply(command.request, {"known": known})

        def stored(error: MeshError | None) -> None:
            if error is None or isinstance(error, StoreFull):
                self._desk.send(conn, reply)

        # When it is on disk: a crash must not bring back what nobody would give up a second time.
        self._router.commit((), stored)

    def drop(self, session: Session, number: int) -> None:
        """The session wants it no more, or is gone."""
        if number == INBOX:
            self._inboxes.closed(session)
            return
        feed = session.feeds.pop(number)
        for query in feed.queries:
            self._router.clients.discard(feed, query)
            self._demand.unwant(query)
        session.outlet.withdraw(feed)
        feed.close()
        self.overran.pop(feed, None)
        self._desk.accounts.closed(feed)
        for table in ("feed", "position"):
            self._router.log.later(table, feed.key, Delete(table, feed.key))

    def restore(self, session: Session, key: bytes, record: Record, position: bytes) -> None:
        """From the store, at start: a feed of a session that may come back."""
        policy = overflow(record.overflow)
        feed = self._make_feed(session, int.from_bytes(key[-4:]), policy, record.max_queue)
        feed.position = int.from_bytes(position)
        record.put_into(feed)
        for query, since in record.queries:
            self._add_query(feed, query, since)
