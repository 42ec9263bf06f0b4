"""Which clients are here, and what do they publish?"""

from __future__ import annotations

from msgspec.structs import replace

from mesh.core.conn import ONLY_READS, Conn
from mesh.core.desk import Desk
from mesh.core.forwarder import Forwarder
from mesh.core.outlet import Outlet
from mesh.core.proof import same, token
from mesh.core.records import read_record
from mesh.core.router import Router
from mesh.core.session import Session, merged, subscription_of
from mesh.core.subscribing import Subscribing
from mesh.errors import LocalError, RemoteError, SlowConsumer
from mesh.names import SessionName, node_name
from mesh.routing.feed import Feed
from mesh.store.base import Delete
from mesh.wire.commands import (
    Answer,
    Answers,
    Hello,
    Refuse,
    Welcome,
)
from mesh.wire.envelope import FORCE_QUEUING, LOCAL_ONLY, PERSISTENT, Envelope
from mesh.wire.limits import VERSION_MAX


class Clients:
    """Sessions by stream id, and by name."""

    def __init__(self, desk: Desk, router: Router, forwarder: Forwarder, subscribing: Subscribing) -> None:
        self.sessions: dict[bytes, Session] = {}
        self.subscribing = subscribing
        self._names: dict[str, Session] = {}
        self._of_client: dict[str, dict[str, Session]] = {}  # the same by the client's name
        self._desk = desk
        self._router = router
        self._forwarder = forwarder
        self._generated = 0

    def of(self, conn: Conn) -> Session | None:
        """Whose connection it is, if it is a client's and still in use."""
        session = self.sessions.get(conn.owner)
        return session if session is not None and session.conn is conn else None

    def open_of(self, name: SessionName) -> list[Session]:
        """The session of that name, or all of that client, if they are connected."""
        if name.session is not None:
            session = self._names.get(str(name))
            return [session] if session is not None and session.conn is not None else []
        ours = self._of_client.get(name.client, {})
        return [ours[text] for text in sorted(ours) if ours[text].conn is not None]

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
        self._of_client.setdefault(name.client, {})[session.text] = session
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
            self.subscribing.drop(session, number)
        self._router.pacing.forget(session.stream)
        self._desk.accounts.gone(session.stream)
        del self.sessions[session.stream]
        if self._names.get(session.text) is session:
            del self._names[session.text]
            ours = self._of_client[session.name.client]
            del ours[session.text]
            if not ours:
                del self._of_client[session.name.client]

    def bye(self, session: Session) -> None:
        """It goes on purpose: all it asked was answered, so nothing of its streams can come again."""
        self.close(session)
        for key in self._router.log.forget_stream(session.stream):
            self._router.log.later("stream", key, Delete("stream", key))

    def tick(self) -> None:
        for session, feed, seconds in self.subscribing.take_stopped():
            self._cut_off(session, feed, seconds)
        for session in list(self.sessions.values()):
            if session.conn is None and self._desk.now - session.gone_since > self._desk.settings.linger:
                self.close(session)

    def _cut_off(self, session: Session, feed: Feed, seconds: float) -> None:
        """Somebody takes nothing while messages are dropped for it: it and everybody shall know."""
        conn = session.conn
        if conn is None:
            return
        what = f"{self.subscribing.named(session, feed)} has taken nothing for {seconds:.0f} s"
        self._desk.count("slow_consumers")
        self._desk.event(
            "slow consumer", f"{what}, while messages were dropped for it: it is cut off", level="warning"
        )
        hint = "Take its messages faster, or see overflow= of subscribe()."
        self._desk.send(conn, Refuse(SlowConsumer.code, what, hint))
        self._desk.hang_up(conn)
        for each in session.feeds.values():
            each.shed()
        self.gone(session)

    # --- what it says -----------------------------------------------------------------------------------

    def publish(self, session: Session, envelopes: list[Envelope]) -> None:
        """Envelopes of its own streams, and of nobody else's."""
        may_write = session.conn is not None and session.conn.may_write
        for e in envelopes:
            is_own = e.stream == session.stream and not (e.numbers or e.sender or e.route or e.sent)
            if not is_own or e.flags & ~(PERSISTENT | LOCAL_ONLY | FORCE_QUEUING):
                raise RemoteError(f"{session.name} publishes in the name of another", code="FORGED_SENDER")
            self._desk.accounts.said(e)
            if not may_write:
                self.answer(session.stream, Answer(e.domain, e.first, e.last, "NOT_ALLOWED", text=ONLY_READS))
                continue
            self._forwarder.publish(replace(e, sender=session.text), session.has_returned)

    def answer(self, stream: bytes, answer: Answer) -> None:
        """What became of something that a client has published."""
        self._desk.accounts.answered(stream, answer)
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

    def restore(self, feeds: dict[bytes, bytes], positions: dict[bytes, bytes]) -> None:
        """From the store, at start: sessions that may come back, with their subscriptions."""
        for key, record in feeds.items():
            known = read_record(record)
            stream = key[1:17]
            session = self.sessions.get(stream) or self._new(SessionName.parse(known.owner), stream)
            session.has_spoken = True
            session.gone_since = self._desk.now
            self.subscribing.restore(session, key, known, positions.get(key, b""))

    def _generate(self) -> int:
        # A session number of an earlier boot must never name somebody else.
        self._generated += 1
        return -(self._desk.me.boot << 32 | self._generated)
