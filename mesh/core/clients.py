"""What do clients of this node ask for? Sessions, publishes, subscriptions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mesh.core.conn import Conn
from mesh.core.demand import Demand
from mesh.core.desk import Desk
from mesh.core.forwarder import Forwarder
from mesh.core.inboxes import INBOX, Inboxes
from mesh.core.lookup import Found, Lookup
from mesh.core.outlet import Outlet
from mesh.core.proof import same, token
from mesh.core.questions import Questions
from mesh.core.records import read_record, write_record
from mesh.core.router import Router
from mesh.core.session import Session, feed_key, merged, subscription_of
from mesh.errors import BadQuery, LocalError, RemoteError
from mesh.names import SessionName, node_name
from mesh.routing.feed import Credit, Feed
from mesh.routing.log import position_key
from mesh.routing.parcel import Parcel
from mesh.routing.subscriptions import check_query
from mesh.store.base import Delete, Put
from mesh.wire.commands import (
    Ack,
    Answer,
    Answers,
    Hello,
    Query,
    Refuse,
    Reply,
    Subscribe,
    Unsubscribe,
    Welcome,
)
from mesh.wire.envelope import FORCE_QUEUING, LOCAL_ONLY, PERSISTENT, Envelope
from mesh.wire.limits import VERSION_MAX


class Clients:
    """Sessions by stream id, and by name."""

    def __init__(
        self, desk: Desk, router: Router, demand: Demand, questions: Questions, lookup: Lookup,
        forwarder: Forwarder, inboxes: Inboxes,
    ) -> None:  # fmt: skip
        self.sessions: dict[bytes, Session] = {}
        self._names: dict[str, Session] = {}
        self._desk = desk
        self._router = router
        self._demand = demand
        self._questions = questions
        self._lookup = lookup
        self._forwarder = forwarder
        self._inboxes = inboxes
        self._generated = 0
        self._lacking: dict[Feed, tuple[Session, Query]] = {}  # have not got all the last values yet
        # Set by the node: whom to tell of a parcel that nobody needs, and how far we have other logs.
        self.released: Callable[[Parcel], None] = lambda parcel: None
        self.received: Callable[[], dict[bytes, int]] = dict

    def of(self, conn: Conn) -> Session | None:
        """Whose connection it is, if it is a client's and still in use."""
        session = self.sessions.get(conn.owner)
        return session if session is not None and session.conn is conn else None

    def open_of(self, name: SessionName) -> list[Session]:
        """The session of that name, or all of that client, if they are connected."""
        if name.session is not None:
            session = self._names.get(str(name))
            return [session] if session is not None and session.conn is not None else []
        ours = [s for s in self._names.values() if s.name.client == name.client and s.conn is not None]
        return sorted(ours, key=lambda s: s.text)

    # --- coming and going ---------------------------------------------------------------------------

    def admit(self, conn: Conn, h: Hello) -> Session | Refuse:
        """A client says HELLO: its session, new or taken up again."""
        try:
            if len(h.stream) != 16:
                raise RemoteError("the stream id of a client has 16 bytes")
            name = SessionName(node_name(h.client), h.session or self._generate(), self._desk.me.name)
        except (LocalError, RemoteError) as error:
            return Refuse(error.code, str(error), final=True)
        session = self.sessions.get(h.stream)
        if session is not None:
            name = session.name
        # Before its first word it may not have heard our WELCOME; and nobody else can know its stream id.
        must_prove = session is not None and session.has_spoken
        wanted = token(self._desk.settings.secret, str(name), h.stream)
        if (h.token or must_prove) and not same(h.token, wanted):
            return Refuse("BAD_TOKEN", f"{name} belongs to somebody else", final=True)
        opened = session or self._open(name, h)
        if isinstance(opened, Refuse):
            return opened
        if opened.conn is not None:
            self._desk.hang_up(opened.conn)  # the newest connection holds the session
        return self._attach(opened, conn, h)

    def _open(self, name: SessionName, h: Hello) -> Session | Refuse:
        """A session that this node does not have, or has forgotten."""
        holder = self._names.get(str(name))
        if holder is not None and holder.conn is not None:
            hint = "Close it there, or choose another session number."
            return Refuse("SESSION_IN_USE", f"{name} is open elsewhere", hint, final=True)
        if len(self.sessions) >= self._desk.settings.max_sessions:
            return Refuse("TOO_MANY_SESSIONS", f"this node has {len(self.sessions)} sessions")
        if h.session < 0 and not h.token:
            return Refuse("BAD_NAME", f"{name}: the node gives negative session numbers", final=True)
        if holder is not None:
            self.close(holder)
        return self._new(name, h.stream)

    def _new(self, name: SessionName, stream: bytes) -> Session:
        s = self._desk.settings
        outlet = Outlet(s.window_bytes, s.link_messages, subscription_of, to_peer=False)
        session = Session(name, stream, outlet)
        self.sessions[stream] = self._names[session.text] = session
        return session

    def _attach(self, session: Session, conn: Conn, h: Hello) -> Session:
        session.conn, conn.owner = conn, session.stream
        session.has_returned |= h.boot_seen != 0
        known = h.boot_seen == self._desk.me.boot and session.outlet.can_resume(h.have)
        if not known:
            session.outlet.restart()
            for feed in session.feeds.values():
                feed.restart()
        self._desk.outlets[session.outlet] = None
        return session

    def welcomed(self, session: Session, have: int) -> None:
        """After the WELCOME has gone out: what it is owed may follow."""
        assert session.conn is not None
        have = have if have < session.outlet.next else 0
        session.outlet.attach(session.conn, have, self._desk.raw)
        self._desk.outlets[session.outlet] = None

    def welcome(self, session: Session) -> Welcome:
        s = self._desk.settings
        return Welcome(
            VERSION_MAX, self._desk.me, s.cluster, session=session.text, next=session.outlet.next,
            max_content=s.max_content, token=token(s.secret, session.text, session.stream),
            window=(s.window_bytes, s.window_count),
        )  # fmt: skip

    def gone(self, session: Session) -> None:
        """Its connection ended; the session waits for it."""
        session.conn = None
        session.outlet.detach()
        session.gone_since = self._desk.now
        for feed in session.feeds.values():
            feed.leave(self._desk.now)

    def close(self, session: Session) -> None:
        """It will not come back."""
        for number in list(session.feeds):
            self._drop_feed(session, number)
        self._router.pacing.forget(session.stream)
        del self.sessions[session.stream]
        if self._names.get(session.text) is session:
            del self._names[session.text]

    def bye(self, session: Session) -> None:
        """It goes on purpose: all it asked was answered, so nothing of its streams can come again."""
        self.close(session)
        for key in self._router.log.forget_stream(session.stream):
            self._router.log.later("stream", key, Delete("stream", key))

    def tick(self) -> None:
        for session in list(self.sessions.values()):
            if session.conn is None and self._desk.now - session.gone_since > self._desk.settings.linger:
                self.close(session)

    # --- what it says -----------------------------------------------------------------------------------

    def publish(self, session: Session, envelopes: list[Envelope]) -> None:
        """Envelopes of its own streams, and of nobody else's."""
        for e in envelopes:
            is_own = e.stream == session.stream and not (e.numbers or e.sender or e.route or e.sent)
            if not is_own or e.flags & ~(PERSISTENT | LOCAL_ONLY | FORCE_QUEUING):
                raise RemoteError(f"{session.name} publishes in the name of another", code="FORGED_SENDER")
            self._forwarder.publish(replace(e, sender=session.text), session.has_returned)

    def answer(self, stream: bytes, answer: Answer) -> None:
        """What became of something that a client has published."""
        session = self.sessions.get(stream)
        if session is not None:
            session.answers.append(answer)
            self._desk.answering[session] = None

    def flush(self) -> None:
        """Send the answers that have gathered."""
        for session in self._desk.answering:
            if session.answers and session.conn is not None:
                self._desk.send(session.conn, Answers(tuple(merged(session.answers))))
            session.answers = []  # whoever reconnects sends again, and is answered again
        self._desk.answering.clear()

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
        query = check_query(command.query)
        feed = session.feeds.get(command.subscription)
        if feed is None:
            feed = self._new_feed(session, command.subscription, query)
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

    def _new_feed(self, session: Session, number: int, query: Query) -> Feed:
        most = self._desk.settings.max_subscriptions
        if len(session.feeds) >= most:
            raise LocalError(
                f"{session.name} has {most} subscriptions.", hint="Use patterns.", code="TOO_MANY"
            )
        feed = self._make_feed(session, number)
        feed.floors = {master: position for master, position in self.received().items() if position}
        self._add_query(feed, query, self._router.log.next_position)
        self._router.log.later("feed", feed.key, Put("feed", feed.key, write_record(session.text, feed)))
        return feed

    def _make_feed(self, session: Session, number: int) -> Feed:
        s = self._desk.settings
        credit = Credit(s.window_bytes, s.window_count, s.backlog_bytes)

        def send(feed: Feed, portion: object) -> None:
            session.outlet.push(feed, portion)  # type: ignore[arg-type]
            self._desk.outlets[session.outlet] = None

        feed = Feed(feed_key(session.stream, number), credit, send, lambda parcel: self.released(parcel))
        session.feeds[number] = feed
        return feed

    def _add_query(self, feed: Feed, query: Query, since: int) -> None:
        feed.queries[query] = since
        self._router.clients.add(feed, query)
        self._demand.want(query)

    def unsubscribe(self, session: Session, command: Unsubscribe) -> None:
        known = command.subscription in session.feeds
        if known:
            self._drop_feed(session, command.subscription)
        self._desk.send(session.conn, Reply(command.request, {"known": known}))

    def _drop_feed(self, session: Session, number: int) -> None:
        if number == INBOX:
            self._inboxes.closed(session)
            return
        feed = session.feeds.pop(number)
        for query in feed.queries:
            self._router.clients.discard(feed, query)
            self._demand.unwant(query)
        self._desk.count("delivered", feed.delivered)
        self._desk.count("dropped", feed.dropped + feed.pending)
        feed.close()
        for table in ("feed", "position"):
            self._router.log.later(table, feed.key, Delete(table, feed.key))

    def restore(self, feeds: dict[bytes, bytes], positions: dict[bytes, bytes]) -> None:
        """From the store, at start: sessions that may come back, with their subscriptions."""
        for key, record in feeds.items():
            known = read_record(record)
            stream = key[1:17]
            session = self.sessions.get(stream) or self._new(SessionName.parse(known.owner), stream)
            session.has_spoken = True
            session.gone_since = self._desk.now
            feed = self._make_feed(session, int.from_bytes(key[-4:]))
            feed.position = int.from_bytes(positions.get(key, b""))
            known.put_into(feed)
            for query, since in known.queries:
                self._add_query(feed, query, since)

    def _generate(self) -> int:
        # A session number of an earlier boot must never name somebody else.
        self._generated += 1
        return -(self._desk.me.boot << 32 | self._generated)
