"""Admits the clients of a node, and opens, resumes and closes their sessions."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.errors import LocalError, RemoteError, SlowConsumer
from mesh.kernel.context.component import Beginning, Component, HandlerEntry, on_command
from mesh.kernel.context.conn import NODE, Conn
from mesh.kernel.context.facts import ConnEnded, Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.records import read_record
from mesh.kernel.delivery.router import Router
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.subscribers import session_refusals as refusals
from mesh.kernel.subscribers.client_feeds import named
from mesh.kernel.subscribers.facts import SessionAway, SessionBack, SessionClosed, SessionCutOff
from mesh.kernel.subscribers.publishing import Publishing
from mesh.kernel.subscribers.session import Session
from mesh.kernel.subscribers.session_takeover import ANSWER, SessionTakeover
from mesh.kernel.subscribers.sessions import Sessions
from mesh.kernel.subscribers.silence import SilentClients
from mesh.kernel.subscribers.subscribing import SubscriberFeeds
from mesh.names import SessionName, node_name
from mesh.proof import same, token
from mesh.routing.feed import Feed
from mesh.routing.visits import Standing, compare
from mesh.wire.commands import Bye, Hello, Pong, Refuse, Welcome
from mesh.wire.connection import MOVING
from mesh.wire.limits import DURABLE, OPERATOR

RESERVE = 16  # sessions beyond the limit, for a local operator


class Clients(Component):
    """Component that admits, resumes and closes the sessions of clients."""

    def __init__(
        self,
        context: NodeContext,
        router: Router,
        nodes: Nodes,
        publishing: Publishing,
        subscribing: SubscriberFeeds,
        sessions: Sessions,
    ) -> None:
        self.sessions, self.session_of = sessions.by_stream, sessions.session_of
        self.subscribing = subscribing
        self._all = sessions
        self._nodes = nodes
        self._context = context
        self._router = router
        self._publishing = publishing
        self._generated = 0
        self._started = 0.0
        self.holders = SessionTakeover(context, self._disconnect_holder)
        self.silent = SilentClients(context, sessions)

    def from_clients(self) -> Sequence[HandlerEntry]:
        return (
            on_command(Pong, lambda conn, session, command, _: self.holders.on_pong(session, command)),
            on_command(Bye, lambda conn, session, command, _: self._goodbye(conn, session, command)),
        )

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(ConnEnded, self._on_conn_ended),)

    def _on_conn_ended(self, fact: ConnEnded) -> None:
        session = self.session_of(fact.conn)
        if session is not None:
            self.on_disconnected(session)

    def _goodbye(self, conn: Conn, session: Session, bye: Bye) -> None:
        if bye.reason == MOVING:
            session.is_moving = True
            self._context.end_connection(conn)
            return
        self._context.out.hang_up(conn)
        self.bye(session)

    # --- sessions ---------------------------------------------------------------------------------------

    def admit_client(self, conn: Conn, h: Hello) -> Session | Refuse | None:
        """Return the session for a HELLO, a refusal, or `None` while the holder of the session is asked.

        If a resumed session has another connection, that connection is closed.
        """
        try:
            home = node_name(h.home) if h.home else self._context.me.name
            name = SessionName(node_name(h.client), h.session or self._generate(), home)
            is_ours = h.client == self._context.me.name or self._nodes.named(h.client) is not None
            refusals.check_free(h.client, h.named and not h.token and is_ours)
        except (LocalError, RemoteError) as error:
            return Refuse(error.code, error.what.rstrip("."), error.hint, final=True)
        session = self.sessions.get(h.stream)
        if session is not None:
            name = session.name
        # A client may lack our WELCOME until its first command, and no other client can know its stream id.
        must_prove = session is not None and session.has_spoken
        wanted = token(self._context.settings.secret, str(name), h.stream)
        is_visitor = home != self._context.me.name
        if (h.token or must_prove or is_visitor) and not same(h.token, wanted):
            return refusals.wrong_token(name)
        known = self._context.visits.find(h.stream)
        if known is not None and compare(h.attach, known.attach) is Standing.OUTDATED:
            return refusals.moved_on(name)
        opened = session or self._crowd(conn) or self._open(name, conn, h)
        if opened is None or isinstance(opened, Refuse):
            return opened
        if opened.conn is not None:  # the newest connection holds the session
            self._context.facts.publish_fact(SessionAway(opened))
            self._context.out.hang_up(opened.conn)
        return self._attach(opened, conn, h)

    def _crowd(self, conn: Conn) -> Refuse | None:
        """Return a refusal if the client's key has too many sessions, otherwise `None`.

        The limit does not apply to clients without a key, which all belong to one user.
        """
        most = self._context.settings.max_key_sessions
        used = sum(session.user == conn.user for session in self.sessions.values()) if conn.user else 0
        if not conn.user or used < most:
            return None
        return refusals.too_many_of_key(used, most, self._context.me.name)

    def _open(self, name: SessionName, conn: Conn, h: Hello) -> Session | Refuse | None:
        """Return a new session, a refusal, or `None` while the holder of its name is asked.

        If a session is opened, a disconnected session of the same name is closed.
        """
        if self._all.is_elsewhere(name, h.stream):
            return refusals.elsewhere(name)
        has_just_started = self._context.clock.now - self._started < ANSWER
        holder = self._all.named(name) or (self._all.restore_reader(name) if has_just_started else None)
        if holder is not None and holder.user not in (None, conn.user) and conn.grant != NODE:
            return refusals.in_use(holder)  # even if disconnected: it may return for its subscriptions
        # A session of an earlier process may be at a node that has not linked since.
        if holder is not None and (holder.conn is not None or (holder.user is None and has_just_started)):
            self.holders.ask_holder(holder, conn, h)
            return None
        most = self._context.settings.max_sessions
        if len(self.sessions) >= most + (RESERVE if conn.trusted and OPERATOR in h.speaks else 0):
            return refusals.too_many(len(self.sessions), most)
        if h.session < 0 and not h.token:
            return refusals.negative_number(name)
        if holder is not None:
            self.close(holder)
        return self._all.open_session(name, h.stream)

    def _attach(self, session: Session, conn: Conn, h: Hello) -> Session:
        conn.owner = session.stream
        session.attach(conn, says_again=not h.boot_seen or DURABLE in conn.speaks)
        self.holders.on_holder_back(session)
        session.user, session.is_named = conn.user, h.named
        session.is_operator = OPERATOR in h.speaks
        known = h.boot_seen == self._context.me.boot and session.outlet.can_resume(h.have)
        if not known:
            session.outlet.restart()
            for feed in session.feeds.values():
                feed.restart()
        self._context.out.outlets[session.outlet] = None
        return session

    def welcomed(self, session: Session, have: int) -> None:
        """Resume deliveries after the WELCOME was sent; `have` is the last item that the client has, or 0."""
        assert session.conn is not None
        have = have if have < session.outlet.next else 0
        session.outlet.attach(session.conn, have, self._context.out.raw)
        self._context.out.outlets[session.outlet] = None
        self._context.facts.publish_fact(SessionBack(session))

    def welcome(self, session: Session, conn: Conn) -> Welcome:
        s = self._context.settings
        return Welcome(
            conn.version,
            self._context.me,
            s.cluster,
            session=session.text,
            next=session.outlet.next,
            max_content=s.max_content,
            token=token(s.secret, session.text, session.stream),
            window=(s.window_bytes, s.window_count),
            speaks=self._context.face.features,
            transaction_bytes=s.transaction_bytes,
        )

    def on_disconnected(self, session: Session) -> None:
        """Keep a session whose connection ended, so that the client can resume it."""
        session.conn = None
        session.outlet.detach()
        session.gone_since = self._context.clock.now
        for feed in session.feeds.values():
            feed.disconnect(self._context.clock.now)
        self.holders.on_holder_gone(session)
        self._context.facts.publish_fact(SessionAway(session))

    def _disconnect_holder(self, session: Session) -> None:
        if session.conn is not None:
            self._context.out.hang_up(session.conn)
        self.on_disconnected(session)

    def close(self, session: Session, is_bye: bool = False) -> None:
        """Remove a session that will not come back."""
        for number in list(session.feeds):
            self.subscribing.drop(session, number)
        self._router.pacing.drop_source(session.stream)
        self._context.counters.accounts.close_stream(session.stream)
        self._all.remove_session(session)
        self.holders.on_holder_gone(session)
        self._context.facts.publish_fact(SessionAway(session))
        self._context.facts.publish_fact(SessionClosed(session, is_bye))

    def bye(self, session: Session) -> None:
        """Close a session at its client's request, and forget its streams, as the client resends nothing."""
        self.close(session, is_bye=True)
        self._router.log.forget_stream(session.stream)
        self._publishing.forget_session(session.stream)

    def tick(self) -> None:
        self.holders.tick()
        for session, feed, seconds in self.subscribing.take_stopped():
            self._cut_off_slow(session, feed, seconds)
        for session in list(self.sessions.values()):
            if session.conn is None and self._context.clock.now - session.gone_since > self._linger(session):
                self.close(session)

    def _linger(self, session: Session) -> float:
        s, me = self._context.settings, self._context.me.uuid
        has_left = self._context.visits.has_left(session.stream, me)
        return linger_of(has_left, bool(session.feeds), s.linger, s.peer_linger)

    def _cut_off_slow(self, session: Session, feed: Feed, seconds: float) -> None:
        if session.conn is None:
            return
        what = f"{named(session, feed)} has accepted no message for {seconds:.0f} s"
        hint = "Read its messages faster, or see overflow= of subscribe()."
        self._cut_off(session, what, f"{what} while messages were dropped for it: disconnected", hint)
        for each in session.feeds.values():
            each.shed()

    def cut_off_largest(self, session: Session, held: int) -> None:
        """Disconnect a session that uses too much memory, `held` bytes, and drop messages that wait for it.

        Its inbox and the persistent messages of this node's own log remain.
        """
        what = f"{session.text} holds {held:,} bytes at this node in unread or unsettled messages"
        most = f"{self._context.settings.sessions_bytes:,}"
        hint = "Read and settle messages faster, or raise `limits.sessions_bytes` of the node."
        self._cut_off(session, what, f"{what}; all sessions together may hold {most}: disconnected", hint)
        session.outlet.restart()
        for feed in session.feeds.values():
            feed.restart()
            feed.shed(frees_memory=True)
        self._context.facts.publish_fact(SessionCutOff(session))

    def _cut_off(self, session: Session, what: str, event: str, hint: str) -> None:
        self._context.counters.add_count("slow_consumers")
        self._context.event("slow consumer", event, level="warning")
        if session.conn is not None:
            self._context.out.send(session.conn, Refuse(SlowConsumer.code, what, hint))
            self._context.out.hang_up(session.conn)
            self.on_disconnected(session)

    # --- start ------------------------------------------------------------------------------------------

    def start(self, beginning: Beginning) -> None:
        """Restore sessions that may come back, with their subscriptions."""
        self._started = self._context.clock.now
        positions = beginning.rows("position")
        for key, record in beginning.rows("feed").items():
            if key[:1] != b"c":
                continue
            known = read_record(record)
            stream = key[1:17]
            session = self._all.restore_session(SessionName.parse(known.owner), stream)
            self.subscribing.restore_feed(session, key, known, positions.get(key, b""))

    def _generate(self) -> int:
        # A session number of an earlier boot must never name another session.
        self._generated += 1
        return -(self._context.me.boot << 32 | self._generated)


def linger_of(has_left: bool, has_feeds: bool, linger: float, peer_linger: float) -> float:
    """Return the seconds that a disconnected session is kept: longer if another node must release it.

    A session without subscriptions, as an outdated HELLO opens it, holds nothing.
    """
    return peer_linger if has_left and has_feeds else linger
