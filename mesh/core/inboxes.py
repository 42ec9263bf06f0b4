"""Where does a message wait that is addressed to one client or session, and who may have it?

An inbox belongs to a name, not to a connection: `/node/heron/client/joe/session/1`, or the client as a
whole, whose messages go to the first of its sessions that opens its inbox.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from mesh.core.desk import Desk
from mesh.core.router import Router
from mesh.core.session import Session, inbox_key
from mesh.errors import MeshError, NotConnected, PublishRefused
from mesh.names import SessionName
from mesh.routing.feed import Feed
from mesh.routing.log import Targets
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.store.base import Delete, Op
from mesh.wire.commands import Answer
from mesh.wire.envelope import FORCE_QUEUING, Envelope
from mesh.wire.expiry import unexpired

IDLE = 60.0  # s: an inbox without anything is kept so long, for what may be on its way to it over the disk
INBOX = 0  # the number that every session's inbox has among its subscriptions


class Inboxes:
    """By absolute name. `open_of(name)` gives the sessions of a client, or the one session, that are here."""

    def __init__(self, desk: Desk, router: Router) -> None:
        self._desk = desk
        self._router = router
        self._feeds: dict[str, Feed] = {}
        self._asked: dict[str, float] = {}  # when each was last asked for
        self._opened: set[str] = set()  # names of sessions that asked for theirs, connected or not
        self._positions: dict[bytes, bytes] = {}  # from the store, until the inbox is needed
        # Clients whose inbox is being emptied into that of a session; was more addressed to it meanwhile?
        self._moving: dict[str, bool] = {}
        self._stalled: set[str] = set()  # of these, those for which there was no room
        # Set by the node.
        self.open_of: Callable[[SessionName], list[Session]] = lambda name: []
        self.bury: Callable[[Envelope, Answer], None] = lambda envelope, answer: None

    def __len__(self) -> int:
        return sum(feed.is_owed for feed in self._feeds.values())

    def feeds(self) -> Iterator[Feed]:
        """Those that are there."""
        return iter(self._feeds.values())

    def addressed(self, envelope: Envelope) -> tuple[list[tuple[Envelope, Targets]], int]:
        """(a copy for each inbox, how many sessions have it at once). NotConnected, or INBOX_FULL."""
        to = SessionName.parse(envelope.to).at(self._desk.me.name)
        sessions = self.open_of(to)
        if not sessions and not envelope.flags & FORCE_QUEUING:
            raise NotConnected(f"{to} is not connected.", hint="To let it wait: force_queuing=True.")
        names = [session.text for session in sessions] or [str(to)]
        if len(sessions) == 1 and self._has_older(str(to), sessions[0]):
            names = [str(to)]  # behind them
        for name in names:
            waiting = self.feed(name).waiting_bytes
            if waiting + len(envelope.body) > self._desk.settings.backlog_bytes:
                text = f"{waiting} bytes wait for {name}."
                raise PublishRefused(text, hint="It has to read its inbox().", code="INBOX_FULL")
        return [(replace(envelope, to=name), [(self.feed(name), None)]) for name in names], len(sessions)

    def _has_older(self, client: str, session: Session) -> bool:
        """May messages for the client as a whole be there that its session is still to be given?"""
        if client in self._moving:
            self._moving[client] = True
            return True
        # Connected, perhaps again, but its question for the inbox is still to come: they wait for that.
        return client in self._feeds and not _has_opened(session)

    def feed(self, name: str) -> Feed:
        """The inbox of that name, made when it is first needed."""
        self._asked[name] = self._desk.now
        feed = self._feeds.get(name)
        if feed is None:
            feed = self._feeds[name] = self._make(name)
        return feed

    def _forget(self, name: str, feed: Feed) -> None:
        del self._feeds[name], self._asked[name]
        self._desk.accounts.closed(feed)
        self._router.log.later("position", feed.key, Delete("position", feed.key))

    def _make(self, name: str) -> Feed:
        def send(feed: Feed, portion: Portion) -> None:
            for session in self.open_of(SessionName.parse(name)):
                self._desk.push(session.outlet, feed, portion)

        credit = self._desk.settings.credit
        feed = Feed(
            inbox_key(name), credit, send, self._router.log.released, keeps=True,
            wall=lambda: self._desk.believed,
        )  # fmt: skip
        feed.position = int.from_bytes(self._positions.pop(feed.key, b""))
        return feed

    def opened(self, session: Session) -> None:
        """A session asks for its inbox: what waits comes, also what waits for its client as a whole."""
        feed = session.feeds[INBOX] = self.feed(session.text)
        self._opened.add(session.text)
        feed.connect(self._desk.now)
        client = str(session.name.of_all_sessions())
        if client in self._feeds and (client not in self._moving or client in self._stalled):
            self._empty(client, session.text)

    def closed(self, session: Session) -> None:
        """The session gives it up, or goes: what it has not taken waits on."""
        feed = session.feeds.pop(INBOX, None)
        if feed is None:
            return
        self._opened.discard(session.text)
        feed.leave(self._desk.now)
        session.outlet.withdraw(feed)
        feed.restart()

    def _empty(self, client: str, name: str) -> None:
        """All that waits for a client, or is on its way there over the disk, goes to one of its sessions."""
        self._moving[client] = False
        self._stalled.discard(client)

        def landed(error: MeshError | None) -> None:
            portions = self._feeds[client].take_all() if client in self._feeds else []
            if portions:
                self._move(client, name, portions)
            elif self._moving.pop(client):
                self._empty(client, name)

        self._router.commit((), landed)

    def _move(self, client: str, name: str, portions: list[Portion]) -> None:
        """On disk first, so that none overtakes what is on its way to the disk for the same session."""
        ops, parcels = list[Op](), list[Parcel]()
        for portion in portions:
            parcel = Parcel(replace(portion.parcel.envelope, to=name), master=self._desk.me.uuid, own=True)
            parcels.append(parcel)
            if portion.parcel.position:
                ops.append(self._router.log.append(parcel))
                parcel.owed = 1

        def stored(error: MeshError | None) -> None:
            for void in (portion.parcel for portion in portions) if error is None else parcels:
                if void.position:
                    self._router.log.released(void)
            if error is not None:
                self._stay(client, portions)
                return
            for parcel in parcels:
                self.feed(name).offer(Portion(parcel), self._desk.now)
            self._empty(client, name)  # more may have come meanwhile

        if ops:
            self._router.commit(ops, stored)
        else:
            stored(None)

    def _stay(self, client: str, portions: list[Portion]) -> None:
        """There was no room to move them: they wait on, before what has come meanwhile."""
        inbox = self.feed(client)
        for portion in (*portions, *inbox.take_all()):
            inbox.offer(portion, self._desk.now)
        self._stalled.add(client)

    def _try_again(self) -> None:
        """Is there room now for what could not be moved?"""
        for client in list(self._stalled):
            sessions = [s for s in self.open_of(SessionName.parse(client)) if _has_opened(s)]
            if sessions:
                self._empty(client, sessions[0].text)
            else:  # it waits for whoever comes next
                self._stalled.discard(client)
                del self._moving[client]

    def restore(self, positions: dict[bytes, bytes]) -> None:
        """From the store, at start: how far each inbox was settled."""
        self._positions = {key: value for key, value in positions.items() if key[:1] == b"i"}

    def tick(self) -> None:
        """What has waited too long for its session is a dead letter."""
        self._try_again()
        oldest = self._desk.believed - int(self._desk.settings.tailback_ttl * 1e9)
        for name, feed in list(self._feeds.items()):
            is_idle = self._desk.now - self._asked[name] > IDLE
            if is_idle and not feed.is_owed and name not in self._opened:
                self._forget(name, feed)
            for portion in feed.take_void(lambda e: _is_void(e, oldest, self._desk.believed)):
                e = portion.parcel.envelope
                text = f"it waited for {name} too long."
                self.bury(e, Answer(e.domain, e.first, e.last, "EXPIRED", 0, text))
                self._desk.count("expired", e.count)


def _has_opened(session: Session) -> bool:
    """Since it is connected."""
    return INBOX in session.feeds and session.feeds[INBOX].connected


def _is_void(envelope: Envelope, oldest: int, wall: int) -> bool:
    return envelope.route[-1].at < oldest or not unexpired(envelope, range(envelope.count), wall)
