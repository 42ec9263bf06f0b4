"""Sessions that move: a visited node takes them over, and releases the nodes where they were before."""

# Law 1: a node that learns of a newer attach number hangs up on the session, but keeps what it holds.
# Law 2: a former node is released master by master: for those that have pinned their logs.
# Law 3: the certificate of a visiting session is sent to a peer before any message of the session, also by
#        nodes that forward its messages. It is kept after the session has left, as its messages may still
#        wait here.
# Law 4: messages that a former node drops, and that no log has, are reported to the client as a gap: by their
#        number, or as a gap of unknown size if that node ended.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from mesh.errors import LocalError, RemoteError
from mesh.kernel.context.component import Beginning, Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn, PeerLost
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.peer_calls import PeerReply
from mesh.kernel.subscribers.certificates import check_certificate
from mesh.kernel.subscribers.clients import Clients
from mesh.kernel.subscribers.facts import (
    ResumeChanged,
    ResumeEnded,
    SessionArrived,
    SessionBehind,
    SessionClosed,
    SessionMoved,
)
from mesh.kernel.subscribers.relayed_calls import RelayedCalls
from mesh.kernel.subscribers.resuming import Resuming
from mesh.kernel.subscribers.session import INBOX, Session
from mesh.kernel.subscribers.session_refusals import copied
from mesh.kernel.subscribers.visit import Visit, is_released, settle_master
from mesh.kernel.subscribers.visit_notices import VisitNotices
from mesh.kernel.subscribers.visit_rows import VisitRows
from mesh.routing.visits import Standing
from mesh.wire.calls import AskAttach, AskRelease
from mesh.wire.commands import Certificate, Moved
from mesh.wire.replies import ReplyValue, SessionReleased

AGAIN = 1.0  # s until a failed release is repeated
WITHIN = 5.0  # s for a release


class Visiting(Component):
    """Component that takes over visiting sessions, and releases departed ones."""

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        neighbours: Neighbours,
        calls: RelayedCalls,
        clients: Clients,
        resuming: Resuming,
    ) -> None:
        self._context = context
        self._disk = disk
        self._neighbours = neighbours
        self._calls = calls
        self._clients = clients
        self._resuming = resuming
        self._visits: dict[bytes, Visit] = {}  # by stream
        self._changed: dict[bytes, None] = {}  # streams with masters that have confirmed in this event
        self._rows = VisitRows(disk)
        self._notices = VisitNotices(context, neighbours, calls, clients.sessions, resuming.expected)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, lambda fact: self._on_login(fact.peer, fact.conn)),
            on_fact(SessionClosed, lambda fact: self._on_closed(fact.session)),
            on_fact(ResumeEnded, lambda fact: self._notices.send_end(fact.session.stream, fact.masters)),
            on_fact(ResumeChanged, lambda fact: self._on_resume_changed(fact.session.stream)),
            on_fact(PeerLost, lambda fact: self._report_lost(fact.peer.node.uuid, self._visits.values())),
        )

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskAttach, self._on_attach, Right.READ),)

    def peer_verbs(self) -> Sequence[Verb]:
        return (self._calls.answer(AskRelease, SessionReleased, self._on_release),)

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Moved, lambda conn, peer, command, _: self._on_moved(peer, command)),)

    def figures(self) -> dict[str, int | float]:
        sessions = self._clients.sessions
        left = sum(self._context.visits.has_left(stream, self._context.me.uuid) for stream in sessions)
        return {"visiting_sessions": len(self._visits), "sessions_held": left}

    def requires_login(self, peer: Peer) -> bool:
        return any(peer.node.uuid in visit.former for visit in self._visits.values())

    def start(self, beginning: Beginning) -> None:
        due = self._context.clock.now + self._context.settings.linger
        for certificate in self._rows.start(beginning, due):
            self._context.visits.observe(certificate)

    def on_second(self) -> None:
        self._notices.repeat_questions()
        for stream in self._rows.delete_unused(self._context.clock.now, self._clients.sessions):
            if self._context.visits.is_at(stream, self._context.me.uuid):
                self._notices.send_close(stream)

    # --- the visited node -------------------------------------------------------------------------------

    def _on_attach(self, asked: IncomingCall[AskAttach]) -> None:
        """Take over the session of a client. The call is answered when the former nodes are released."""
        ask, session, certificate = asked.ask, asked.who, asked.ask.certificate
        if (certificate.session, certificate.stream) != (session.text, session.stream):
            raise LocalError("The certificate is for another session.", code="FORGED_VISIT")
        try:
            standing = check_certificate(self._context, certificate, self._context.me.uuid)
        except LocalError as error:
            if error.code == "MOVED":
                self._refuse_copy(session)
            raise
        visit = self._visits.get(session.stream)
        if standing is Standing.SAME and visit is not None:
            visit.call = asked
            return
        if standing is Standing.NEWER:
            self._clients.subscribing.drop_others(session, ask.subscriptions)
        self._rows.write_visit(certificate)
        self._rows.write_stay(certificate)
        former = {uuid: set[bytes]() for uuid in ask.former if uuid != self._context.me.uuid}
        received = dict(zip(ask.former, ask.received, strict=False))
        visit = self._visits[session.stream] = Visit(session, certificate, former, received, call=asked)
        session.left_to = b""
        self._context.facts.publish_fact(SessionArrived(session))
        # A repeated ATTACH of a visit that is over has nothing to resume.
        expected = ask.subscriptions if standing is Standing.NEWER else ()
        self._resuming.arrive(session.stream, certificate, former, expected)
        self._context.counters.add_count("visits")
        self._notices.send_arrival(certificate, is_known=standing is Standing.NEWER)
        for uuid in former:
            if (known := self._neighbours.peers.get(uuid)) is not None:
                self._neighbours.review_login(known)
        self._release_former(session.stream)

    def _refuse_copy(self, session: Session) -> None:
        """Hang up on a client whose key has signed a later visit: two programs have the key."""
        if session.conn is not None:
            self._context.out.send(session.conn, copied(session))
            self._context.end_connection(session.conn)

    def _on_closed(self, session: Session) -> None:
        visit = self._visits.get(session.stream)
        self._resuming.leave(session.stream)
        if visit is not None:  # nothing is left to confirm
            visit.call = None
            self._release_former(session.stream)
        elif self._context.visits.is_at(session.stream, self._context.me.uuid):
            self._rows.delete_visit(session.stream)
            self._notices.send_close(session.stream)

    # --- release of former nodes ------------------------------------------------------------------------

    def _on_resume_changed(self, stream: bytes) -> None:
        self._changed[stream] = None
        self._context.out.ending[self._release_changed] = None

    def _release_changed(self) -> None:
        changed, self._changed = self._changed, {}
        for stream in changed:
            self._release_former(stream)

    def _on_login(self, peer: Peer, conn: Conn) -> None:
        self._notices.send_all(conn)
        for visit in list(self._visits.values()):
            if peer.node.uuid in visit.former:
                visit.asking.discard(peer.node.uuid)
                self._release_former(visit.session.stream)

    def _release_former(self, stream: bytes) -> None:
        """Release the former nodes of a visiting session for the masters that have confirmed."""
        visit = self._visits.get(stream)
        if visit is None:
            return
        confirmed, is_all = self._resuming.confirmed(stream)
        is_due = self._context.clock.now >= visit.again_at
        for uuid, released in list(visit.former.items()):
            peer = self._neighbours.peers.get(uuid)
            if peer is not None and not peer.alive:
                self._report_lost(uuid, (visit,))
            if uuid in visit.asking or not is_due:
                continue
            is_news = is_all or confirmed - released
            # A node behind relays receives no MOVED.
            if is_news or (uuid not in visit.informed and self._calls.is_relayed(uuid)):
                self._ask_release(visit, uuid, sorted(confirmed), is_all)
        if is_all and not visit.former:
            self._end(visit)

    def _ask_release(self, visit: Visit, uuid: bytes, masters: list[bytes], is_all: bool) -> None:
        visit.asking.add(uuid)
        received = visit.received.get(uuid, [])
        ask = AskRelease(certificate=visit.certificate, masters=masters, is_last=is_all, received=received)
        came = partial(self._on_released, visit, uuid, masters)
        if not self._calls.ask(uuid, ask, SessionReleased, came, WITHIN):
            visit.asking.discard(uuid)  # asked at its login

    def _on_released(
        self, visit: Visit, uuid: bytes, masters: list[bytes], reply: PeerReply[SessionReleased] | None
    ) -> None:
        visit.asking.discard(uuid)
        if reply is not None and not reply.code:
            visit.informed.add(uuid)
            visit.report_gaps(uuid, reply.value.dropped)
            if reply.value.is_closed:
                visit.former.pop(uuid, None)
                self._release_former(visit.session.stream)
                return
            visit.former[uuid].update(masters)
            if self._resuming.has_arrived(visit.session.stream):
                self._resuming.add_masters(visit.session, reply.value.left)
        visit.again_at = self._context.clock.now + AGAIN
        self._context.clock.wake(visit.again_at)

    def _report_lost(self, uuid: bytes, visits: Iterable[Visit]) -> None:
        """Report a gap to visiting sessions that were at a node which has ended."""
        for visit in visits:
            if uuid in visit.former and self._resuming.has_arrived(visit.session.stream):
                visit.report_lost(uuid)

    def _end(self, visit: Visit) -> None:
        stream = visit.session.stream
        if self._visits.get(stream) is not visit:
            return
        del self._visits[stream]
        self._resuming.leave(stream)
        if visit.call is not None:
            visit.call.reply(ReplyValue())
        if self._clients.sessions.get(stream) is not visit.session:
            self._rows.delete_visit(stream)

    def tick(self) -> None:
        for visit in list(self._visits.values()):
            if 0 < visit.again_at <= self._context.clock.now:
                visit.again_at = 0.0
                self._release_former(visit.session.stream)

    # --- a former node ----------------------------------------------------------------------------------

    def _on_moved(self, peer: Peer, command: Moved) -> None:
        """Record where a session is now, and hang up on it if it was here."""
        certificate = command.certificate
        try:
            standing = self._context.visits.observe(certificate)
        except RemoteError:
            self._context.counters.add_count("forged_visits")
            return
        if standing is Standing.NEWER and certificate.node != self._context.me.uuid:
            self.leave(certificate)
            self._context.facts.publish_fact(SessionMoved(certificate))
            self._context.facts.publish_fact(SessionBehind(peer))
        if self._notices.on_moved(peer, command) and certificate.node != self._context.me.uuid:
            self._close(certificate.stream)

    def _close(self, stream: bytes) -> None:
        """Close a session that left, of which nothing has to be kept here any longer."""
        if (session := self._clients.sessions.get(stream)) is not None:
            self._clients.close(session)
            self._rows.delete_visit(stream)

    def leave(self, certificate: Certificate) -> None:
        """Hang up on a session that is at another node now, if it was here; keep what this node holds."""
        session = self._clients.sessions.get(certificate.stream)
        if session is None:
            return
        self._rows.write_visit(certificate)
        self._notices.forget_subscriptions(certificate.stream)
        self._visits.pop(certificate.stream, None)
        self._resuming.leave(certificate.stream)
        self._clients.subscribing.drop(session, INBOX)
        for feed in session.feeds.values():
            self._resuming.end(session, feed)
        if session.conn is not None:
            self._context.end_connection(session.conn)

    def _on_release(self, asked: IncomingCall[AskRelease], node: bytes) -> None:
        """Settle the messages of the masters that the new node names, held for a session that left."""
        ask, certificate = asked.ask, asked.ask.certificate
        check_certificate(self._context, certificate, node)
        self.leave(certificate)
        session = self._clients.sessions.get(certificate.stream)
        left, dropped = list[bytes](), []
        if session is not None:
            dropped = session.leave_to(certificate.node, dict(ask.received))
            for master in ask.masters:
                settle_master(session, master, self._context.me.uuid, self._disk)
            masters = self._resuming.masters_of(session)
            has_ended = ask.is_last and not ask.masters  # the new node has no subscription of the session
            named = masters if has_ended else set(ask.masters)
            left = sorted(masters - named)
            if is_released(masters, named, ask.is_last):
                self._close(session.stream)
        is_closed = certificate.stream not in self._clients.sessions
        released = SessionReleased(is_closed=is_closed, left=left, dropped=dropped)
        self._disk.commit((), lambda error: asked.reply(released))
