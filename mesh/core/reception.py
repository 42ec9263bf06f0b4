"""Which part of the core gets which command? One table for each kind of sender."""

from __future__ import annotations

from collections.abc import Callable

from mesh.core.admission import Admission
from mesh.core.clients import Clients
from mesh.core.conn import Conn
from mesh.core.datalink import DataLinks
from mesh.core.desk import Desk
from mesh.core.dialler import Dialler
from mesh.core.forwarder import Forwarder
from mesh.core.gossiping import Gossiping
from mesh.core.neighbours import Neighbours
from mesh.core.peer import Peer
from mesh.core.questions import Questions
from mesh.core.session import Session
from mesh.core.verbs import Verbs
from mesh.errors import LocalError, RemoteError
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope


class Reception:
    """`ended` is told of a connection that is over."""

    def __init__(
        self,
        desk: Desk,
        admission: Admission,
        clients: Clients,
        neighbours: Neighbours,
        dialler: Dialler,
        links: DataLinks,
        questions: Questions,
        forwarder: Forwarder,
        gossiping: Gossiping,
        verbs: Verbs,
        ended: Callable[[Conn], None],
    ) -> None:
        self._desk = desk
        self._admission = admission
        self._clients = clients
        self._neighbours = neighbours
        self._dialler = dialler
        self._links = links
        self._questions = questions
        self._forwarder = forwarder
        self._gossiping = gossiping
        self._verbs = verbs
        self._ended = ended

    def take(self, conn: Conn, command: c.AnyCommand, envelopes: list[Envelope]) -> None:
        """Hand a command to whom it concerns. RemoteError when its sender may not say that."""
        if not conn.is_open or isinstance(command, c.Refuse):
            self._shake_hands(conn, command)
            return
        peer = self._neighbours.of(conn) if conn.role != c.CLIENT else None
        session = self._clients.of(conn) if conn.role == c.CLIENT else None
        if peer is not None:
            self._neighbours.heard(peer)
            self._from_peer(conn, peer, command, envelopes)
        elif session is not None:
            session.has_spoken = True
            self._from_client(conn, session, command, envelopes)

    def _shake_hands(self, conn: Conn, command: c.AnyCommand) -> None:
        match command:
            case c.Hello() if not conn.dialled:
                self._admission.hello(conn, command)
            case c.Challenge() if conn.dialled:
                self._admission.door.challenge(conn, command)
            case c.Welcome() if conn.dialled:
                self._admission.door.welcome(conn, command)
            case c.Refuse() if conn.dialled:
                self._admission.door.turn_away(conn, command)
            case c.Who() if conn.dialled:
                self._desk.hang_up(conn)
                self._ended(conn)
            case c.Who() | c.Bye() | c.Refuse():
                pass  # answering these would go back and forth for ever
            case _:
                self._desk.count("not_open")
                self._desk.send(conn, c.Who())

    def _from_client(
        self, conn: Conn, session: Session, command: c.AnyCommand, envelopes: list[Envelope]
    ) -> None:
        match command:
            case c.Publish():
                self._clients.publish(session, envelopes)
            case c.Ack():
                self._clients.subscribing.ack(session, command)
            case c.Ping():
                self._desk.send(conn, c.Pong(command.stamp))
            case c.Subscribe():
                self._answer_errors(
                    conn, command.request, lambda: self._clients.subscribing.subscribe(session, command)
                )
            case c.Unsubscribe():
                self._clients.subscribing.unsubscribe(session, command)
            case c.Call():
                self._answer_errors(
                    conn, command.request, lambda: self._verbs.from_client(conn, session, command)
                )
            case c.Bye():
                self._desk.hang_up(conn)
                self._clients.bye(session)
            case _:
                raise RemoteError(f"a client sent {type(command).__name__}", code="UNEXPECTED")

    def _from_peer(self, conn: Conn, peer: Peer, command: c.AnyCommand, envelopes: list[Envelope]) -> None:
        match command:
            case c.Items():
                self._links.items(peer, command, envelopes)
            case c.Ack():
                self._links.ack(peer, command)
            case c.Ping():
                self._desk.send(conn, c.Pong(command.stamp))
            case c.Pong():
                self._dialler.pong(peer, command)
            case c.Interest():
                self._links.interest(peer, command)
            case c.Interested():
                self._links.interested(peer, command)
            case c.Call():
                self._verbs.from_peer(peer, command)
            case c.Reply():
                self._answered(peer, command, envelopes)
            case c.Forward():
                self._forwarder.forwarded(peer, envelopes)
            case c.Outcomes():
                self._forwarder.outcomes(peer, command)
            case c.Peers():
                self._neighbours.introduced(command.nodes)
            case c.Login():
                self._dialler.apply(peer, peer.link.wanted(self._desk.now))
            case c.Bye():
                self._neighbours.goodbye(conn, peer, command)
            case c.Who():
                self._desk.hang_up(conn)
                self._ended(conn)
            case _:
                self._of_others(conn, peer, command)

    def _of_others(self, conn: Conn, peer: Peer, command: c.AnyCommand) -> None:
        """What nodes say of each other's life, and of how they are."""
        liveness = self._neighbours.liveness
        match command:
            case c.Probe():
                liveness.probe(conn, peer, command)
            case c.ProbeFor():
                liveness.probe_for(peer, command)
            case c.Probed():
                liveness.probed(peer, command)
            case c.Rumours():
                liveness.rumours(peer, command, self._admission.censuses.is_answer(conn, command))
            case c.Census():
                self._admission.censuses.answer(conn, command)
            case c.States():
                self._gossiping.states(peer, command)
            case c.Hear():
                self._gossiping.hear(peer, command)
            case _:
                raise RemoteError(f"a node sent {type(command).__name__}", code="UNEXPECTED")

    def _answer_errors(self, conn: Conn, request: int, work: Callable[[], None]) -> None:
        try:
            work()
        except LocalError as error:
            self._desk.send(conn, c.Reply(request, code=error.code, text=str(error)))

    def _answered(self, peer: Peer, reply: c.Reply, envelopes: list[Envelope]) -> None:
        if not (isinstance(reply.value, dict) and reply.value.get("more")):
            peer.reads.pop(reply.request, None)
        self._questions.answered(peer, reply, envelopes)
