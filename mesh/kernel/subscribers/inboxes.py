"""Inboxes: direct messages that wait for a client or a session.

An inbox belongs to a name, not to a connection: to a session such as `/node/heron/client/joe/session/1`, or
to a client as a whole. Messages in the inbox of a client move to a session of the client with an open inbox.
"""

# Law: a message for a client with at most one connected session stays addressed to the client, whichever
#      session receives it. It waits for the client again if that session closes without reading it, and after
#      a restart. If several sessions are connected, each gets a copy addressed to the session, unless the
#      message is for one of them: it stays addressed to the client.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from msgspec.structs import replace

from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.forwarding.deadletters import DeadLetters
from mesh.kernel.subscribers.absent import AbsentClients
from mesh.kernel.subscribers.backlog_moves import BacklogMoves
from mesh.kernel.subscribers.inbox_refusals import full, not_connected
from mesh.kernel.subscribers.one_session import OneSession
from mesh.kernel.subscribers.owners import Owners, owner_of
from mesh.kernel.subscribers.remote_readers import Reader, RemoteReader
from mesh.kernel.subscribers.session import INBOX, inbox_key
from mesh.kernel.subscribers.sessions import Sessions
from mesh.kernel.subscribers.visit_rows import away_key
from mesh.names import CLIENT, SessionName
from mesh.operations import Delete
from mesh.reasons.reason import reason
from mesh.reasons.what import MESSAGE, What
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.inbox import Inbox
from mesh.routing.paging import Paging
from mesh.routing.sink import AddressResolver, Targets
from mesh.values import messages
from mesh.wire.calls import AskInbox
from mesh.wire.commands import Answer
from mesh.wire.envelope import FORCE_QUEUING, ONE_SESSION, PERSISTENT, Envelope
from mesh.wire.expiry import all_void, unexpired
from mesh.wire.replies import Reason, Released

NEARLY = 0.9  # share of an inbox above which it counts as full
SHOWN = 8  # inboxes in one answer
IDLE = 60.0  # s that an empty inbox is kept, for pending commits


class Inboxes(Component):
    """Component with the inboxes of clients and sessions, by absolute name."""

    def __init__(
        self, context: NodeContext, disk: Disk, paging: Paging, dead: DeadLetters, sessions: Sessions
    ) -> None:
        self._context = context
        self._paging = paging
        self._disk = disk
        self._shelf = disk.shelf
        self._dead = dead
        self.sessions = sessions
        self.remote, self.expected = sessions.remote, sessions.expected
        self._feeds: dict[str, Inbox] = {}
        self._asked: dict[str, float] = {}  # time of the last use
        self._opened: set[str] = set()  # names of sessions with an open inbox
        self._positions: dict[bytes, bytes] = {}  # from the store, until an inbox needs it
        self._absent = AbsentClients(context)
        self._one = OneSession()
        self.owners = Owners(context, disk.later)
        self._moves = BacklogMoves(
            context, disk, paging, self._feeds, self._opened, self.taker, self._entitled
        )

    def __len__(self) -> int:
        return sum(feed.is_owed for feed in self._feeds.values())

    def figures(self) -> dict[str, int | float]:
        return {"inboxes_owed": len(self), "inboxes_bytes": self._absent.bytes}

    def holds(self) -> int:
        return self._absent.bytes

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskInbox, self._release, Right.RUN),)

    def _release(self, asked: IncomingCall[AskInbox]) -> None:
        asked.reply(Released(released=self.owners.remove_client(asked.ask.release)))

    def explain(self, what: What) -> Iterator[Reason]:
        """Yield reasons about the inboxes of a client, or about a message that waits in inboxes."""
        if what.kind == CLIENT:
            for name, feed in islice(self._named(what.client), SHOWN):
                size = feed.accepted_bytes
                if size >= NEARLY * self._context.settings.backlog_bytes:
                    yield reason("INBOX_FULL", who=name, bytes=size)
                elif feed.pending:
                    yield reason("INBOX_WAITS", who=name, n=messages(feed.pending))
        elif what.kind == MESSAGE:
            holding = (name for name, feed in self._feeds.items() if feed.items and feed.holds(*what.message))
            yield from (reason("HELD_FOR", who=name) for name in islice(holding, SHOWN))

    def _named(self, client: SessionName) -> Iterator[tuple[str, Inbox]]:
        """Yield the inboxes of a client and its sessions, or of one session."""
        for name, feed in self._feeds.items():
            owner = SessionName.parse(name)
            if owner.client == client.client and client.session in (None, owner.session):
                yield name, feed

    def feeds(self) -> Iterator[Feed]:
        return iter(self._feeds.values())

    def address_resolvers(self) -> Mapping[str, AddressResolver]:
        return {CLIENT: self}

    def addressed(self, envelope: Envelope) -> tuple[list[tuple[Envelope, Targets]], int]:
        """Return (copy, targets) for each inbox, and the number of connected sessions that may read a copy.

        Raises: NotConnected, PublishRefused with INBOX_FULL, or StoreFull.
        """
        to = SessionName.parse(envelope.to).at(self._context.me.name)
        sessions = self._entitled(to)
        if not sessions:
            if not self._may_wait(to, envelope.flags):
                visitor, unnamed = self.sessions.visitor_of(to), self.sessions.unnamed_of(to)
                has_other_key = bool(self._open_of(to))
                raise not_connected(to, visitor, unnamed, has_other_key, self._is_expected(to))
            self._absent.reserve_space(str(to), envelope, self._feeds)
        copies = self._copies(envelope.without(ONE_SESSION), to, sessions, envelope.flags & ONE_SESSION > 0)
        for name, copy in copies.items():
            waiting = self.taker(name).accepted_bytes
            are_full = self._absent.is_full and waiting > 0
            if are_full or waiting + len(copy.body) > self._context.settings.backlog_bytes:
                self._context.counters.loss_counter(name)(envelope, "INBOX_FULL", envelope.count)
                most = self._context.settings.backlog_bytes
                raise full(name, waiting, len(copy.body), most, self._context.me.name if are_full else "")
        matched = min(1, len(sessions)) if envelope.flags & ONE_SESSION else len(sessions)
        return [(copy, [(self.taker(name), None)]) for name, copy in copies.items()], matched

    def _copies(
        self, envelope: Envelope, to: SessionName, sessions: list[Reader], for_one: bool
    ) -> dict[str, Envelope]:
        """Return the copy or part of an envelope for each inbox, by name.

        A message for one session stays addressed to the client, as does one for its only session.
        """
        if len(sessions) > 1 and not for_one:
            return {session.text: replace(envelope, to=session.text) for session in sessions}
        client = str(to)
        readers = [s.text for s in sessions if not self._moves.has_older(client, s)]
        whole = replace(envelope, to=client)
        if len(readers) > 1:
            return self._one.share_out(whole, {name: self.taker(name).accepted_bytes for name in readers})
        return {readers[0] if readers else client: whole}

    def _may_wait(self, to: SessionName, flags: int) -> bool:
        """Return whether a message may wait for an addressee that is not known to be connected."""
        return flags & FORCE_QUEUING > 0 or (flags & PERSISTENT > 0 and self._is_expected(to))

    def _is_expected(self, to: SessionName) -> bool:
        return not self._open_of(to) and self.expected.includes(to, self._context.clock.now)

    def _open_of(self, name: SessionName) -> list[Reader]:
        """Return the connected session of that name, or those of a client, here and at other nodes.

        A remote reader precedes a session of the same name here, which has not opened the inbox.
        """
        here: list[Reader] = [*self.sessions.open_of(name)]
        if not self.remote:  # the usual case
            return here
        found = {reader.text: reader for reader in (*here, *self.remote.connected(name))}
        return [found[text] for text in sorted(found)]

    def _entitled(self, to: SessionName) -> list[Reader]:
        """Return the connected sessions of an addressee that may read its messages."""
        return [session for session in self._open_of(to) if self.owners.may_read(session, to)]

    def taker(self, name: str) -> Inbox:
        """Return the inbox of that name, created if necessary."""
        self._asked[name] = self._context.clock.now
        feed = self._feeds.get(name)
        if feed is None:
            feed = self._feeds[name] = self._make(name)
        return feed

    def _delete_inbox(self, name: str, feed: Inbox) -> None:
        del self._feeds[name], self._asked[name]
        self._one.forget_inbox(name)
        self._context.counters.accounts.count_closed(feed)
        self._disk.later("position", feed.key, Delete("position", feed.key))

    def _make(self, name: str) -> Inbox:
        def send(feed: Feed, slice_: EnvelopeSlice) -> None:
            for reader in self._open_of(SessionName.parse(name)):
                reader.push_slice(self._context.out, feed, slice_)

        feed = Inbox(
            inbox_key(name),
            self._context.settings.credit,
            send,
            self._shelf.delete_released,
            partial(self.bury, name),
            wall=lambda: self._context.clock.believed,
            paging=self._paging,
            void_at=lambda e: all_void(e, e.route[-1].at + int(self._context.settings.tailback_ttl * 1e9)),
        )
        feed.position = int.from_bytes(self._positions.pop(feed.key, b""))
        return feed

    def bury(self, name: str, slice_: EnvelopeSlice, void: Sequence[int]) -> None:
        """Dead-letter the messages `void` of a slice, which have expired, and keep the others."""
        stored, left = slice_.stored, slice_.indices
        if stored.own and stored.position and left:
            # In the commit of the dead letters, or they would expire again after a crash.
            self._shelf.keep_only(stored, left)
        e = stored.envelope.cut(void)
        answer = Answer(
            e.domain, e.first, e.last, "EXPIRED", 0, f"The message expired while it waited for {name}."
        )
        self._dead.publish_refused(e, answer, owner_of(self.owners, name, self._context.me.name))
        self._context.counters.add_count("expired", e.count)

    def open_inbox(self, session: Reader) -> None:
        """Open the inbox of a session, and deliver its backlog. A remote reader of the same name ends.

        If the client name was chosen, the backlog of the client is assigned to one of its sessions with an
        open inbox. Raises: LocalError if another key owns the inbox.
        """
        self.owners.claim_inbox(session)
        other = self.remote.find(session.name)
        if other is not None and other is not session:
            self.end_reader(other)
        feed = session.feeds[INBOX] = self.taker(session.text)
        self._opened.add(session.text)
        feed.connect(self._context.clock.now)
        client = str(session.name.of_all_sessions())
        if not session.is_named:
            return
        if client in self._feeds:
            self._moves.start_move(client)

    def end_reader(self, reader: RemoteReader) -> None:
        """Forget a remote reader; its unread messages wait again."""
        self.remote.remove_reader(reader)
        key = away_key(reader.stream)
        self._disk.later("feed", key, Delete("feed", key))
        self.close_inbox(reader)

    def close_inbox(self, session: Reader) -> None:
        """Close the inbox of a session; unread messages wait for their addressee again."""
        feed = session.feeds.pop(INBOX, None)
        if feed is None:
            return
        self._opened.discard(session.text)
        feed.disconnect(self._context.clock.now)
        session.drop_slices(feed)
        feed.restart()
        client = str(session.name.of_all_sessions())
        if not session.is_named:
            return
        self._moves.start_move(client, session.text)

    def start(self, beginning: Beginning) -> None:
        """Restore the position and the owner of each inbox, and expect the sessions that opened one."""
        self._absent.is_tight = beginning.is_tight
        positions = beginning.rows("position")
        self.owners.restore_owners(beginning.rows("inbox"))
        self._positions = {key: value for key, value in positions.items() if key[:1] == b"i"}
        for session in self.owners.sessions():
            self.expected.expect(session, self._context.clock.now + self._context.settings.linger)

    def on_second(self) -> None:
        """Count the bytes in all inboxes, expire overdue messages, and drop idle inboxes and owners."""
        self._absent.looked(self._feeds.values())
        self.expected.drop_overdue(self._context.clock.now)
        with self._disk.together():
            self._bury_void()

    def _bury_void(self) -> None:
        self.owners.tick(n for n, feed in self._feeds.items() if feed.is_owed or n in self._opened)
        oldest = self._context.clock.believed - int(self._context.settings.tailback_ttl * 1e9)
        for name, feed in list(self._feeds.items()):
            is_idle = self._context.clock.now - self._asked[name] > IDLE
            if is_idle and not feed.is_owed and not feed.coming and name not in self._opened:
                self._delete_inbox(name, feed)
            for slice_ in feed.take_void(lambda e: _is_void(e, oldest, self._context.clock.believed)):
                void, slice_.indices = slice_.every, ()
                self.bury(name, slice_, void)


def _is_void(envelope: Envelope, oldest: int, wall: int) -> bool:
    return envelope.route[-1].at < oldest or not unexpired(envelope, range(envelope.count), wall)
