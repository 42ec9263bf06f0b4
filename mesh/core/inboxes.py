"""Where does a message wait that is addressed to one client or session, and who may have it?

An inbox belongs to a name, not to a connection: `/node/heron/client/joe/session/1`, or the client as a
whole, whose messages go to the first of its sessions that opens its inbox.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mesh.core.desk import Desk
from mesh.core.router import Router
from mesh.core.session import Session, inbox_key
from mesh.errors import MeshError, NotConnected, PublishRefused
from mesh.names import SessionName
from mesh.routing.feed import Credit, Feed, Portion
from mesh.routing.log import Targets
from mesh.routing.parcel import Parcel
from mesh.store.base import Delete, Op
from mesh.wire.commands import Answer
from mesh.wire.envelope import FORCE_QUEUING, Envelope

INBOX = 0  # the number that every session's inbox has among its subscriptions


class Inboxes:
    """By absolute name. `open_of(name)` gives the sessions of a client, or the one session, that are here."""

    def __init__(self, desk: Desk, router: Router) -> None:
        self._desk = desk
        self._router = router
        self._feeds: dict[str, Feed] = {}
        self._positions: dict[bytes, bytes] = {}  # from the store, until the inbox is needed
        # Set by the node.
        self.open_of: Callable[[SessionName], list[Session]] = lambda name: []
        self.bury: Callable[[Envelope, Answer], None] = lambda envelope, answer: None

    def __len__(self) -> int:
        return sum(feed.is_owed for feed in self._feeds.values())

    def addressed(self, envelope: Envelope) -> tuple[list[tuple[Envelope, Targets]], int]:
        """(a copy for each inbox, how many sessions have it at once). NotConnected, or INBOX_FULL."""
        to = SessionName.parse(envelope.to).at(self._desk.me.name)
        sessions = self.open_of(to)
        if not sessions and not envelope.flags & FORCE_QUEUING:
            raise NotConnected(f"{to} is not connected.", hint="To let it wait: force_queuing=True.")
        names = [session.text for session in sessions] or [str(to)]
        for name in names:
            waiting = self.feed(name).waiting_bytes
            if waiting + len(envelope.body) > self._desk.settings.backlog_bytes:
                text = f"{waiting} bytes wait for {name}."
                raise PublishRefused(text, hint="It has to read its inbox().", code="INBOX_FULL")
        return [(replace(envelope, to=name), [(self.feed(name), None)]) for name in names], len(sessions)

    def feed(self, name: str) -> Feed:
        """The inbox of that name, made when it is first needed."""
        feed = self._feeds.get(name)
        if feed is None:
            feed = self._feeds[name] = self._make(name)
        return feed

    def _make(self, name: str) -> Feed:
        s = self._desk.settings
        credit = Credit(s.window_bytes, s.window_count, s.backlog_bytes)

        def send(feed: Feed, portion: Portion) -> None:
            for session in self.open_of(SessionName.parse(name)):
                session.outlet.push(feed, portion)
                self._desk.outlets[session.outlet] = None

        feed = Feed(inbox_key(name), credit, send, self._router.log.released, keeps=True)
        feed.position = int.from_bytes(self._positions.pop(feed.key, b""))
        return feed

    def opened(self, session: Session) -> None:
        """A session asks for its inbox: what waits comes, also what waits for its client as a whole."""
        feed = session.feeds[INBOX] = self.feed(session.text)
        feed.connect(self._desk.now)
        client = str(replace(session.name, session=None))
        if client in self._feeds:
            self._move(client, self._feeds.pop(client), feed)

    def closed(self, session: Session) -> None:
        """The session gives it up, or goes: what it has not taken waits on."""
        feed = session.feeds.pop(INBOX, None)
        if feed is None:
            return
        feed.leave(self._desk.now)
        feed.restart()
        if not feed.is_owed:
            del self._feeds[session.text]
            self._router.log.later("position", feed.key, Delete("position", feed.key))

    def _move(self, client: str, source: Feed, target: Feed) -> None:
        """All that waits for a client goes to one of its sessions, in order.

        It is sent at once, and stays on disk under the old name until it is there under the new one: a
        crash in between may repeat it, but not lose it.
        """
        name, ops, old = target.key[1:].decode(), list[Op](), list[Parcel]()
        for portion in source.take_all():
            parcel = Parcel(replace(portion.parcel.envelope, to=name), master=self._desk.me.uuid, own=True)
            if portion.parcel.position:
                old.append(portion.parcel)
                ops.append(self._router.log.append(parcel))
                parcel.owed = 1
            target.offer(Portion(parcel), self._desk.now)

        def stored(error: MeshError | None) -> None:
            for parcel in old if error is None else ():
                self._router.log.released(parcel)

        if ops:
            self._router.commit(ops, stored)

    def restore(self, positions: dict[bytes, bytes]) -> None:
        """From the store, at start: how far each inbox was settled."""
        self._positions = {key: value for key, value in positions.items() if key[:1] == b"i"}

    def tick(self) -> None:
        """What has waited too long for its session is a dead letter."""
        oldest = self._desk.wall - int(self._desk.settings.tailback_ttl * 1e9)
        for name, feed in list(self._feeds.items()):
            if not feed.is_owed and not feed.connected:
                del self._feeds[name]
            for portion in feed.take_void(lambda e: _is_void(e, oldest, self._desk.wall)):
                e = portion.parcel.envelope
                text = f"it waited for {name} too long."
                self.bury(e, Answer(e.domain, e.first, e.last, "EXPIRED", 0, text))
                self._desk.count("expired", e.count)


def _is_void(envelope: Envelope, oldest: int, wall: int) -> bool:
    return envelope.route[-1].at < oldest or 0 < envelope.expires <= wall
