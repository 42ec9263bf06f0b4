"""Subscriptions of the sessions of this node."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from mesh.errors import BadQuery, LocalError, MeshError, RemoteError, SlowConsumer, StoreFull
from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.records import FeedRecord, write_record
from mesh.kernel.delivery.router import Router
from mesh.kernel.routes.peer_calls import PeerCalls
from mesh.kernel.subscribers.client_feeds import ClientFeeds, named
from mesh.kernel.subscribers.collecting import Collecting
from mesh.kernel.subscribers.firstvalues import FirstValues
from mesh.kernel.subscribers.reasons import of_client, of_message, of_topic
from mesh.kernel.subscribers.resuming import Resuming
from mesh.kernel.subscribers.session import INBOX, REPLIES, Session, subscription_of
from mesh.kernel.subscribers.subscription_limits import SubscriptionLimits
from mesh.operations import Delete, Put
from mesh.reasons.what import CLIENT, MESSAGE, TOPIC, What
from mesh.routing.feed import Feed
from mesh.routing.log import position_key
from mesh.routing.overflow import Overflow, overflow
from mesh.routing.subscriptions import check_query
from mesh.values import check_domain
from mesh.wire.commands import Ack, Ended, Query, Reply, Subscribe, Unsubscribe
from mesh.wire.envelope import Envelope
from mesh.wire.limits import GAPS, HISTORY
from mesh.wire.replies import Reason

SINCE = 63  # positions in the reply to SUBSCRIBE, without that of this node


class SubscriberFeeds(Component):
    """The feeds of sessions, whose queries are registered here and requested from other nodes.

    `received()` returns the position up to which this node has each master's log.
    """

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        router: Router,
        demand: InterestSync,
        questions: PeerCalls,
        first: FirstValues,
        inboxes: Collecting,
        feeds: ClientFeeds,
        received: Callable[[], Mapping[bytes, int]],
        resuming: Resuming,
    ) -> None:
        self._resuming = resuming
        self._feeds, self.take_stopped = feeds, feeds.take_stopped
        self._sessions = inboxes.sessions
        self._limits = SubscriptionLimits(context, router.clients, self._sessions)
        self._disk = disk
        self._received = received
        self._context = context
        self._router = router
        self._demand = demand
        self._questions = questions
        self._first = first
        self._inboxes = inboxes

    def features(self) -> Sequence[str]:
        return (GAPS, HISTORY)

    def from_clients(self) -> Sequence[HandlerEntry]:
        return (
            on_command(Ack, self._ack),
            on_command(Subscribe, self._on_subscribe),
            on_command(Unsubscribe, lambda conn, session, command, _: self.unsubscribe(session, command)),
        )

    def explain(self, what: What) -> Iterator[Reason]:
        if what.kind == TOPIC:
            takers = self._router.clients.match(what.text, what.domain)
            yield from of_topic(self._context, self._sessions, takers, what.text, what.domain)
        elif what.kind == CLIENT:
            yield from of_client(self._context, self._sessions, what.client)
        elif what.kind == MESSAGE:
            yield from of_message(self._context, self._sessions, *what.message)

    def _on_subscribe(self, conn: Conn, session: Session, command: Subscribe, _: list[Envelope]) -> None:
        self._context.out.reply_to(conn, command.request, lambda: self.subscribe(session, command))

    def _ack(self, conn: Conn, session: Session, command: Ack, _: list[Envelope]) -> None:
        session.outlet.on_acked(command.have)
        self._context.out.outlets[session.outlet] = None
        for number, total in command.taken:
            feed = session.feeds.get(number)
            if feed is not None:  # otherwise just unsubscribed
                before = feed.position
                feed.on_processed(total, self._context.clock.now)
                if feed.position != before:
                    self._disk.later("position", feed.key, position_key(feed, feed.position))

    def subscribe(self, session: Session, command: Subscribe) -> None:
        if command.subscription == INBOX or command.query.kind == "inbox":
            self._open_inbox(session, command)
            return
        if command.subscription == REPLIES:
            raise BadQuery(f"Subscription {REPLIES} is reserved for replies.", hint="Use a lower number.")
        if command.subscription in session.ended:
            self._context.out.send(session.conn, session.ended[command.subscription])
            return
        query = check_query(command.query)
        check_domain(query.domain)
        feed = session.feeds.get(command.subscription)
        was_here = feed is not None
        if feed is None:
            feed = self._new_feed(session, command, query)
        elif query not in feed.queries:
            raise RemoteError(f"{session.name} uses subscription {command.subscription} for another query")
        wanted = bool(command.initial) and not command.resumed
        conn = session.conn
        is_resumed = self._resuming.prepare(session, feed, query, dict(command.since), was_here)
        feed.connect(self._context.clock.now)  # sends what does not wait for a resumed log
        if wanted:
            # A resumed log has the earlier messages already.
            feed.history = 1 if is_resumed else int(command.initial)
            self._first.expects(feed)

        def confirmed() -> None:
            def subscribed() -> None:
                self._subscribed(session, feed, query, conn, command.request, wanted)

            if is_resumed and not feed.closed:
                self._resuming.start_resume(session, feed, subscribed)
            else:
                subscribed()

        def known() -> None:
            self._questions.call_when_confirmed(self._demand.unconfirmed(), confirmed)

        # With a full disk the subscription is made anyway, and stored when there is room again.
        self._disk.commit((), lambda error: self._questions.when_settled(known))

    def _open_inbox(self, session: Session, command: Subscribe) -> None:
        if command.subscription != INBOX or command.query.kind != "inbox":
            number = command.subscription
            what = f"The inbox needs subscription {INBOX}, not {number}."
            if number == INBOX:
                what = f"Subscription {INBOX} is reserved for the inbox."
            raise BadQuery(what, hint="See docs/wire.md.")
        try:
            self._inboxes.open_inbox(session)
        except LocalError as error:
            if command.request:  # 0: the session had it before
                raise
            session.ended[INBOX] = Ended(INBOX, error.code, str(error))
            self._context.out.send(session.conn, session.ended[INBOX])
            return
        self._context.out.send(session.conn, Reply(command.request, {"subscription": INBOX}))

    def _subscribed(
        self, session: Session, feed: Feed, query: Query, conn: Conn | None, request: int, initial: bool
    ) -> None:
        """Reply to a SUBSCRIBE whose query is confirmed, after the first values if `initial`."""

        def reply() -> None:
            since = sorted(feed.floors.items())[:SINCE]
            me = self._context.me.uuid, max(feed.queries.get(query, 1) - 1, 0)
            value = {"subscription": subscription_of(feed), "since": [*map(list, since), list(me)]}
            self._context.out.send(conn, Reply(request, value))

        if initial:
            self._first.deliver_values(session, feed, query, reply)
        else:
            reply()

    def _new_feed(self, session: Session, command: Subscribe, query: Query) -> Feed:
        self._limits.check_room(session, query)
        policy = overflow(command.overflow)
        feed = self._make_feed(session, command.subscription, policy, command.max_queue, query)
        feed.floors = dict(self._received())
        self._add_query(feed, query, self._router.shelf.next_position)
        self._disk.later("feed", feed.key, Put("feed", feed.key, write_record(session.text, feed)))
        return feed

    def _make_feed(
        self, session: Session, number: int, policy: Overflow, max_queue: int, *queries: Query
    ) -> Feed:
        feed = self._feeds.new_feed(session, number, policy, max_queue, queries, self._end_subscription)
        session.feeds[number] = feed
        self._limits.count += 1
        return feed

    def _end_subscription(self, session: Session, feed: Feed) -> None:
        """End a subscription whose overflow policy is to end instead of dropping messages."""
        number, text = subscription_of(feed), f"{named(session, feed)} did not keep up."
        self.drop(session, number)
        session.ended[number] = Ended(number, SlowConsumer.code, text)
        self._context.out.send(session.conn, session.ended[number])

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
                self._context.out.send(conn, reply)

        # Reply when it is on disk: a crash must not restore a subscription that is never ended again.
        self._disk.commit((), stored)

    def drop(self, session: Session, number: int) -> None:
        """Remove a subscription, or close the inbox if `number` is INBOX."""
        if number == INBOX:
            self._inboxes.close_inbox(session)
            return
        feed = session.feeds.pop(number)
        if number == REPLIES:
            session.outlet.drop_slices(feed)
            feed.close()
            self._context.counters.accounts.count_closed(feed)
            return
        self._limits.count -= 1
        self._resuming.end(session, feed)
        for query in feed.queries:
            self._router.clients.discard(feed, query)
            self._demand.unwant(query)
            self._first.lacks_nothing(feed, query)
        session.outlet.drop_slices(feed)
        feed.close()
        self._feeds.overran.pop(feed, None)
        self._context.counters.accounts.count_closed(feed)
        for table in ("feed", "position"):
            self._disk.later(table, feed.key, Delete(table, feed.key))

    def drop_others(self, session: Session, kept: Collection[int]) -> None:
        """Remove all subscriptions but `kept`, as the client has ended them at another node."""
        for number in [n for n, feed in session.feeds.items() if feed.queries and n not in kept]:
            self.drop(session, number)

    def restore_feed(self, session: Session, key: bytes, record: FeedRecord, position: bytes) -> None:
        """Restore the feed of a session that may come back."""
        policy = overflow(record.overflow)
        queries = [query for query, _ in record.queries]
        feed = self._make_feed(session, int.from_bytes(key[-4:]), policy, record.max_queue, *queries)
        feed.position = int.from_bytes(position)
        record.put_into(feed)
        for query, since in record.queries:
            self._add_query(feed, query, since)
