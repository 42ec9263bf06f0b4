"""The visited node's side of an inbox: collects the direct messages of a session from its home."""

# Law 1: the home is asked when the session arrives, leaves, opens or closes its inbox, when the home logs in
#        or has news, and when the client has processed a message; each POLL s if it must not be linked. One
#        question is open at a time.
# Law 2: messages are kept in memory only. What the client has not processed is sent again by the home.

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from mesh.errors import LocalError, NotConnected, RemoteError
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, PeerReply, Replies
from mesh.kernel.subscribers.collection import Collection
from mesh.kernel.subscribers.facts import SessionArrived, SessionAway, SessionBack, SessionClosed
from mesh.kernel.subscribers.inboxes import Inboxes
from mesh.kernel.subscribers.session import INBOX, Session, inbox_key
from mesh.kernel.subscribers.session_refusals import elsewhere
from mesh.routing.collecting import CollectedItems
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.inbox import Inbox
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.calls import AskCollect, AskNotify
from mesh.wire.commands import Certificate
from mesh.wire.envelope import Envelope
from mesh.wire.replies import Collected, ReplyValue

AGAIN, LATER = 1.0, 30.0  # s until a failed, or a refused question is repeated
POLL = 1.0  # s until a home behind a relay is asked again
WITHIN, RUN = 5.0, 8  # s for a page, and bytes of the id of a run


class Collecting(Component):
    """Component that opens the inboxes of sessions, and collects those of visiting sessions."""

    def __init__(
        self,
        context: NodeContext,
        neighbours: Neighbours,
        nodes: Nodes,
        questions: PeerCalls,
        inboxes: Inboxes,
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._nodes = nodes
        self._questions = questions
        self._inboxes = inboxes
        self.sessions = inboxes.sessions
        self._collections: dict[bytes, Collection] = {}  # by stream
        self._homes = Counter[str]()
        self._due: dict[Collection, None] = {}  # to be asked at the end of this event
        self._again: dict[Collection, None] = {}  # to be asked again later

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, lambda fact: self._on_login(fact.peer)),
            on_fact(SessionAway, lambda fact: self._on_away(fact.session)),
            on_fact(SessionBack, lambda fact: self._on_arrived(fact.session)),
            on_fact(SessionArrived, lambda fact: self._on_arrived(fact.session)),
            on_fact(SessionClosed, lambda fact: self._on_closed(fact.session)),
        )

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskNotify, self._on_notify),)

    def figures(self) -> dict[str, int | float]:
        return {"inboxes_collected": sum(each.is_open for each in self._collections.values())}

    def feeds(self) -> Iterator[Feed]:
        return (each.feed for each in self._collections.values())

    def holds(self) -> int:
        return sum(each.feed.accepted_bytes for each in self._collections.values())

    def requires_login(self, peer: Peer) -> bool:
        return peer.node.name in self._homes

    # --- inboxes ----------------------------------------------------------------------------------------

    def open_inbox(self, session: Session) -> None:
        """Open the inbox of a session, here or at its home. Raises: LocalError."""
        if session.name.node == self._context.me.name:
            self._inboxes.open_inbox(session)
            return
        found = self._collection_of(session)
        found.is_open = True
        session.feeds[INBOX] = found.feed
        found.feed.connect(self._context.clock.now)
        self._ask_soon(found)

    def close_inbox(self, session: Session) -> None:
        """Close the inbox of a session. What its client has not processed waits at its home."""
        if session.name.node == self._context.me.name:
            self._inboxes.close_inbox(session)
            return
        is_here = self._context.visits.is_at(session.stream, self._context.me.uuid)
        found = self._collections.get(session.stream)
        if found is None or (is_here and not found.is_open):
            return
        self._remove(found)
        if is_here:
            self._ask_soon(self._collection_of(session))

    def _on_arrived(self, session: Session) -> None:
        is_here = self._context.visits.is_at(session.stream, self._context.me.uuid)
        if is_here and session.name.node != self._context.me.name:
            self._ask_soon(self._collection_of(session))

    def _collection_of(self, session: Session) -> Collection:
        """Return the collection of a visiting session, created if necessary."""
        found = self._collections.get(session.stream)
        if found is None:
            home, run = session.name.node or "", self._context.ids(RUN)
            found = Collection(session, self._make_feed(session), home, run)
            self._collections[session.stream] = found
            self._homes[home] += 1
        return found

    def _on_closed(self, session: Session) -> None:
        """Report to the home that a session has ended."""
        found = self._collections.get(session.stream)
        if found is None:
            return
        self._remove(found)
        if (ready := self._home_of(found)) is not None:
            peer, certificate = ready
            last = replace(found.question(certificate), at=0)
            self._questions.ask_all([peer], last, Collected, lambda replies, missing: None, WITHIN)

    def _remove(self, found: Collection) -> None:
        session = found.session
        del self._collections[session.stream]
        self._homes -= Counter([found.home])
        self._again.pop(found, None)
        session.feeds.pop(INBOX, None)
        session.drop_slices(found.feed)
        found.feed.close()
        self._context.counters.accounts.count_closed(found.feed)

    def _make_feed(self, session: Session) -> Inbox:
        def send(feed: Feed, slice_: EnvelopeSlice) -> None:
            session.push_slice(self._context.out, feed, slice_)

        return Inbox(
            inbox_key(session.text),
            self._context.settings.credit,
            send,
            partial(self._on_released, session),
            partial(self._inboxes.bury, session.text),
            wall=lambda: self._context.clock.believed,
        )

    def _on_released(self, session: Session, stored: StoredEnvelope) -> None:
        """Record that the client has processed a message, or that it has expired."""
        found = self._collections.get(session.stream)
        if found is not None and stored.source == found.run:
            found.items.release(stored.position)
            self._ask_soon(found)

    # --- questions to the home --------------------------------------------------------------------------

    def on_second(self) -> None:
        for each in [each for each in self._again if each.again_at <= self._context.clock.now]:
            self._end_wait(each)

    def _end_wait(self, found: Collection) -> None:
        self._again.pop(found, None)
        self._ask_soon(found)

    def _ask_soon(self, found: Collection) -> None:
        self._due[found] = None
        self._context.out.ending[self._ask_due] = None

    def _ask_due(self) -> None:
        due, self._due = self._due, {}
        for each in due:
            self._ask(each)

    def _ask(self, found: Collection) -> None:
        """Ask for the next page. A home that is not linked, but may be, is asked at its login."""
        if self._collections.get(found.session.stream) is not found or found in self._again:
            return
        if found.asked is not None:
            found.is_due = True
            return
        if (ready := self._home_of(found)) is None:
            return
        peer, certificate = ready
        found.is_due = False
        ask = found.asked = found.question(certificate)
        came = partial(self._on_reply, found, ask)
        self._questions.ask_all([peer], ask, Collected, came, WITHIN, is_patient=True)

    def _home_of(self, found: Collection) -> tuple[Peer, Certificate] | None:
        """Return the home, if linked, or the next hop to it, and the certificate of the session here."""
        certificate = self._context.visits.find(found.session.stream)
        peer = self._nodes.named(found.home)
        if certificate is None or certificate.node != self._context.me.uuid:
            return None
        if peer is not None and peer.data is None:
            self._neighbours.review_login(peer)
        if peer is None or peer.data is None:
            peer = None if self._nodes.is_named(found.home) else self._nodes.next_hop(found.home)
        if peer is None:
            if not self._nodes.is_named(found.home):
                self._retry(found, POLL)
            return None
        return peer, certificate

    def _on_login(self, peer: Peer) -> None:
        for each in self._collections.values():
            if each.home == peer.node.name:
                each.asked = None
                self._end_wait(each)

    def _on_away(self, session: Session) -> None:
        found = self._collections.get(session.stream)
        if found is not None:
            self._ask_soon(found)

    def _on_notify(self, asked: IncomingCall[AskNotify]) -> None:
        found = self._collections.get(asked.ask.stream)
        if found is None or found.home != asked.who.node.name:
            code = NotConnected.code if self.sessions.has_ended(asked.ask.stream) else "MOVED"
            raise LocalError(f"No such session reads its inbox at {self._context.me.name}.", code=code)
        self._ask_soon(found)
        asked.reply(ReplyValue())

    def _on_reply(
        self, found: Collection, ask: AskCollect, replies: Replies[Collected], missing: list[str]
    ) -> None:
        if found.asked is not ask or self._collections.get(found.session.stream) is not found:
            return  # it was asked again at a login
        found.asked = None
        asked, reply = next(iter(replies.items()), (b"", None))
        try:
            if reply is not None and not reply.code:
                self._take_page(found, reply)
        except RemoteError as error:
            self._on_refused(found, error.code)
            return
        if reply is None:
            self._retry(found, AGAIN)
        elif reply.code:
            self._on_refused(found, reply.code)
        elif reply.found or found.is_due:
            self._ask_soon(found)
        elif (peer := self._nodes.named(found.home)) is None or peer.node.uuid != asked:
            self._retry(found, POLL)  # a relay passes no notice on

    def _retry(self, found: Collection, after: float) -> None:
        found.again_at, self._again[found] = self._context.clock.now + after, None

    def _on_refused(self, found: Collection, code: str) -> None:
        """Begin anew, or ask again later: a home of an earlier release at its next login.

        A client whose session another one has opened at the home is disconnected.
        """
        if code == "UNKNOWN_RUN":
            found.run, found.items = self._context.ids(RUN), CollectedItems()
            for slice_ in found.feed.take_all():  # the home sends them again
                found.feed.release(slice_.stored)
            self._ask_soon(found)
        elif code == "SESSION_IN_USE" and found.session.conn is not None:
            self._context.out.send(found.session.conn, elsewhere(found.session.name))
            self._context.end_connection(found.session.conn)
        elif code not in ("MOVED", "UNKNOWN_VERB"):
            self._retry(found, POLL if code == "UNKNOWN_NODE" else LATER)
        if code not in ("MOVED", "UNKNOWN_RUN", "UNKNOWN_NODE") and not found.is_refused:
            found.is_refused = True
            text = f"{found.home} keeps the direct messages of {found.session.text} until it returns"
            self._context.event("session", f"{text} [{code}]", level="warning")

    def _take_page(self, found: Collection, reply: PeerReply[Collected]) -> None:
        """Offer a page to the client. Raises: RemoteError for a page that no correct home sends."""
        numbers = found.take_page(reply)
        for number, gap, (envelope, (*_, home)) in zip(numbers, reply.value.gaps, reply.found, strict=True):
            self._offer(found, home, number, gap, envelope)

    def _offer(self, found: Collection, home: bytes, number: int, gap: int, envelope: Envelope) -> None:
        relayed = self._context.relayed(envelope)
        stored = StoredEnvelope(relayed, number, home, source=found.run, owed=1, is_late=True)
        self._context.counters.add_count("collected_messages", envelope.count)
        if gap:
            found.feed.missed(gap)
        found.feed.offer(EnvelopeSlice(stored), self._context.clock.now)
