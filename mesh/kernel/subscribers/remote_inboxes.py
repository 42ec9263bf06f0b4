"""The home's side of an inbox whose session is at another node."""

# Law 1: only the node that the highest certificate of a session names gets its direct messages.
# Law 2: a direct message stays here until that node reports that the client has processed it.
# Law 3: a session whose node is not linked counts as disconnected, and is forgotten after `linger` seconds.
#        Until then, persistent messages wait for it.
#        If that node asks through relays, the session is connected until SILENCE seconds after a question.
# Law 4: the name of a session belongs to its stream while the session is at another node, also after a
#        restart of this node: until `linger` seconds after it, or until that node does not know the session.

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mesh.errors import LocalError, NotConnected, RemoteError
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn, LoggedOut
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.kernel.subscribers.certificates import check_certificate
from mesh.kernel.subscribers.facts import (
    SessionArrived,
    SessionAway,
    SessionBack,
    SessionClosed,
    SessionMoved,
)
from mesh.kernel.subscribers.inboxes import Inboxes
from mesh.kernel.subscribers.relayed_calls import RelayedCalls
from mesh.kernel.subscribers.remote_readers import RemoteReader
from mesh.kernel.subscribers.session import INBOX, Session
from mesh.kernel.subscribers.visit_rows import away_key, away_sessions, put_row
from mesh.names import SessionName
from mesh.routing.log import position_key
from mesh.wire.calls import AskCollect, AskNotify
from mesh.wire.replies import Collected, ReplyValue

WITHIN = 5.0  # s for the reply to a notice
SILENCE = 10.0  # s
RESTORED = b""  # run of a session that has not reported since the start of this node


class RemoteInboxes(Component):
    """Component that sends direct messages to the nodes that their sessions visit."""

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        peers: dict[bytes, Peer],
        questions: PeerCalls,
        calls: RelayedCalls,
        inboxes: Inboxes,
    ) -> None:
        self._context = context
        self._disk = disk
        self._peers = peers
        self._questions = questions
        self._calls = calls
        self._inboxes = inboxes
        self._readers = inboxes.remote

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, lambda fact: self._on_login(fact.peer)),
            on_fact(LoggedOut, lambda fact: self._on_logout(fact.peer)),
            on_fact(SessionMoved, lambda fact: self._expect(SessionName.parse(fact.certificate.session))),
            on_fact(SessionAway, lambda fact: self._on_away(fact.session)),
            on_fact(SessionBack, lambda fact: self._on_back(fact.session)),
            on_fact(SessionArrived, lambda fact: self._end_reader_of(fact.session)),
            on_fact(SessionClosed, lambda fact: self._on_closed(fact.session)),
        )

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskCollect, self._on_collect),)

    def figures(self) -> dict[str, int | float]:
        return {"inboxes_remote": sum(INBOX in reader.feeds for reader in self._readers)}

    def start(self, beginning: Beginning) -> None:
        """Restore the sessions of this node that were at others; they count as disconnected."""
        for certificate in away_sessions(beginning):
            self._context.visits.observe(certificate)
            name, stream = SessionName.parse(certificate.session), certificate.stream
            reader = RemoteReader(name, stream, "", False, certificate.node, RESTORED, self._notify)
            reader.gone_since = self._context.clock.now
            self._readers.add_reader(reader)
            self._expect(name)

    def on_second(self) -> None:
        oldest = self._context.clock.now - self._context.settings.linger
        silent = self._context.clock.now - SILENCE
        for reader in self._readers:
            if reader.is_relayed and reader.is_connected and reader.asked_at < silent:
                self._disconnect(reader)
            if not reader.is_connected and reader.gone_since < oldest:
                self._inboxes.end_reader(reader)

    # --- questions of the visited node ------------------------------------------------------------------

    def _on_collect(self, asked: IncomingCall[AskCollect]) -> None:
        """Return the next messages, and drop messages that the client has processed. Raises: LocalError."""
        ask, node = asked.ask, self._calls.first_asker(asked)
        check_certificate(self._context, ask.certificate, node)
        name = SessionName.parse(ask.certificate.session)
        if name.node != self._context.me.name:
            self._calls.pass_on(asked, name.node or "", Collected)
            return
        reader = self._readers.find(name)
        if reader is None or (reader.node, reader.run) != (node, ask.run):
            if ask.at > 1:
                raise LocalError("The messages sent before are no longer known.", code="UNKNOWN_RUN")
            if ask.at:
                reader = self._begin(name, ask, node)
        if reader is not None and reader.node == node and not ask.at:
            self._inboxes.end_reader(reader)
        self._inboxes.expected.forget_session(name)
        if reader is None or not ask.at:
            asked.reply(Collected())
            return
        reader.is_notified = True  # by this reply
        reader.is_relayed, reader.asked_at = bool(ask.visited), self._context.clock.now
        self._settle(reader, ask)
        self._update(reader, ask)
        self._reply(asked, reader)

    # --- the home ---------------------------------------------------------------------------------------

    def _begin(self, name: SessionName, ask: AskCollect, node: bytes) -> RemoteReader:
        """Let a session read its inbox at another node, in place of an earlier node. Raises: LocalError."""
        stream = ask.certificate.stream
        reader = RemoteReader(name, stream, ask.user, ask.is_named, node, ask.run, self._notify)
        local, other = self._inboxes.sessions.named(name), self._readers.find(name)
        is_used = local is not None and local.conn is not None and local.stream != stream
        if is_used or (other is not None and other.is_connected and other.stream != stream):
            raise LocalError(f"{name} is open elsewhere.", code="SESSION_IN_USE")
        if ask.is_open:
            self._inboxes.owners.claim_inbox(reader)
        if local is not None:
            self._inboxes.close_inbox(local)
        if other is not None:
            self._inboxes.end_reader(other)
        self._readers.add_reader(reader)
        put_row(self._disk, away_key(stream), ask.certificate)
        return reader

    def _settle(self, reader: RemoteReader, ask: AskCollect) -> None:
        feed = reader.feeds.get(INBOX)
        if feed is None:
            return
        before = feed.position
        try:
            feed.on_processed(ask.done, self._context.clock.now)
        except RemoteError as error:
            raise LocalError(error.what, code=error.code) from error
        reader.sent.settle(ask.done)
        if feed.position != before:
            self._disk.later("position", feed.key, position_key(feed, feed.position))

    def _update(self, reader: RemoteReader, ask: AskCollect) -> None:
        """Record whether a session is connected, and open its inbox. Raises: LocalError."""
        was_connected, reader.is_connected = reader.is_connected, ask.is_connected
        if ask.is_connected and ask.is_open and not (was_connected and INBOX in reader.feeds):
            self._inboxes.open_inbox(reader)
        elif was_connected and not ask.is_connected:
            self._disconnect(reader)

    def _disconnect(self, reader: RemoteReader) -> None:
        reader.is_connected = False
        reader.gone_since = self._context.clock.now
        if INBOX in reader.feeds:
            reader.feeds[INBOX].disconnect(self._context.clock.now)

    def _reply(self, asked: IncomingCall[AskCollect], reader: RemoteReader) -> None:
        me, first = self._context.me, max(asked.ask.at, reader.sent.first)
        envelopes, gaps = [], []
        for slice_ in reader.sent.page(first):
            whole = slice_.stored.envelope
            envelopes.append(whole if slice_.indices is None else whole.cut(slice_.indices))
            gaps.append(slice_.gap)
        reader.is_notified = False
        sources = [(me.name, None, me.uuid)] * len(envelopes)
        asked.reply(Collected(first=first, gaps=gaps, sources=list(sources)), envelopes)

    # --- sessions between two nodes ---------------------------------------------------------------------

    def _expect(self, session: SessionName) -> None:
        """Let persistent messages wait for a session of this node that may be at another one."""
        if session.node == self._context.me.name:
            until = self._context.clock.now + self._context.settings.linger
            self._inboxes.expected.expect(session, until)

    def _on_away(self, session: Session) -> None:
        if session.is_moving:
            self._expect(session.name)

    def _on_back(self, session: Session) -> None:
        """Forget where the session was, if another client has it now; otherwise, it must prove its move."""
        self._inboxes.expected.forget_session(session.name)
        reader = self._readers.find(session.name)
        if reader is not None and reader.stream != session.stream:
            self._inboxes.end_reader(reader)

    def _end_reader_of(self, session: Session) -> None:
        if (reader := self._readers.find(session.name)) is not None:
            self._inboxes.end_reader(reader)

    def _on_closed(self, session: Session) -> None:
        if not self._context.visits.has_left(session.stream, self._context.me.uuid):
            self._inboxes.expected.forget_session(session.name)

    # --- notices ----------------------------------------------------------------------------------------

    def _notify(self, reader: RemoteReader) -> None:
        """Let the visited node ask for new messages. A node that is not linked asks at its login."""
        peer = self._peers.get(reader.node)
        if peer is not None and peer.data is not None:
            ask = AskNotify(stream=reader.stream)
            came = partial(self._on_notified, reader)
            self._questions.ask_all([peer], ask, ReplyValue, came, WITHIN, is_patient=True)

    def _on_notified(self, reader: RemoteReader, replies: Replies[ReplyValue], _: list[str]) -> None:
        """Count a session as disconnected of which its node knows nothing, or as ended after a restart."""
        codes = {reply.code for reply in replies.values()} - {""}
        if not codes or self._readers.find(reader.name) is not reader:
            return
        if reader.is_connected:
            self._disconnect(reader)
        elif reader.run == RESTORED and NotConnected.code in codes:
            self._inboxes.expected.forget_session(reader.name)
            self._inboxes.end_reader(reader)

    def _on_login(self, peer: Peer) -> None:
        for reader in self._readers:
            if reader.node == peer.node.uuid:
                self._notify(reader)

    def _on_logout(self, peer: Peer) -> None:
        for reader in self._readers:
            if reader.node == peer.node.uuid and reader.is_connected:
                self._disconnect(reader)
                self._expect(reader.name)
