"""Calls: checks the rights of the sender, and passes each question to the component that answers it."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.errors import LocalError
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import ONLY_READS, Conn
from mesh.kernel.context.effects import Backup, SetLevel, Stop
from mesh.kernel.context.facts import BackupChanged
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.subscribers.peer_subscriptions import PeerSubscriptions
from mesh.kernel.subscribers.session import Session
from mesh.loglevels import check_level
from mesh.wire.calls import AskBackup, AskDown, AskLog, Carried, read_ask
from mesh.wire.commands import NODE_CONTROL, Call, Reply
from mesh.wire.envelope import Envelope
from mesh.wire.replies import ReplyValue

VISITED = 2048  # names of nodes in one question, at most


class Verbs(Component):
    """Component that passes each CALL to the component for its verb.

    Calls that stop or back up the node, or set a log level, are answered here.
    """

    def __init__(self, context: NodeContext, wanted: PeerSubscriptions) -> None:
        self._context = context
        self._wanted = wanted

    def from_clients(self) -> Sequence[HandlerEntry]:
        return (on_command(Call, self._from_client),)

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Call, self._from_peer),)

    def client_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskDown, self._down, Right.RUN),
            answer(AskLog, self._log, Right.RUN),
            answer(AskBackup, self._backup, Right.RUN),
        )

    def _from_client(self, conn: Conn, session: Session, call: Call, _: list[Envelope]) -> None:
        verb = self._context.face.client_verbs.get(call.verb)

        def send(reply: Reply, envelopes: Sequence[Envelope]) -> None:
            self._context.out.send(conn, reply, envelopes)

        def work() -> None:
            if not conn.may_write and (verb is None or verb.right is not Right.READ):
                raise LocalError(ONLY_READS, code="NOT_ALLOWED")
            if verb is None:
                raise _unknown(self._context.me.name, call.verb)
            asked = IncomingCall(read_ask(verb.asks, call.arguments), call.request, session, conn, send)
            if verb.right is Right.RUN:
                asked.check_keys()
            verb.then(asked)

        self._context.out.reply_to(conn, call.request, work)

    def _from_peer(self, conn: Conn, peer: Peer, call: Call, _: list[Envelope]) -> None:
        """Answer a peer's question.

        A question on a control connection is answered on the current control connection or, if there is none,
        on the data connection. A question on the data connection waits until the queries that the peer sent
        before it are applied. Another process of the peer gets no answer, since its questions have the same
        numbers.
        """
        verb = self._context.face.peer_verbs.get(call.verb)
        is_control, boot = conn.role == NODE_CONTROL, peer.node.boot

        def send(reply: Reply, envelopes: Sequence[Envelope]) -> None:
            if peer.node.boot == boot:
                to = (peer.control or peer.data) if is_control else peer.data
                self._context.out.send(to, reply, envelopes)

        def work() -> None:
            if verb is None:
                raise _unknown(self._context.me.name, call.verb)
            ask = read_ask(verb.asks, call.arguments)
            if isinstance(ask, Carried) and len(ask.visited) > VISITED:
                what = f"The request has passed {len(ask.visited)} nodes; the limit is {VISITED}."
                raise LocalError(what, code="TOO_MANY_HOPS")
            verb.then(IncomingCall(ask, call.request, peer, conn, send))

        if conn is peer.data:
            self._wanted.behind(peer, lambda: self._context.out.reply_to(conn, call.request, work))
        else:
            self._context.out.reply_to(conn, call.request, work)

    def _log(self, asked: IncomingCall[AskLog]) -> None:
        check_level(asked.ask.logger, asked.ask.level)
        self._context.out.emit(SetLevel(asked.ask.logger, asked.ask.level))
        asked.reply(ReplyValue())

    def _backup(self, asked: IncomingCall[AskBackup]) -> None:
        if not asked.conn.trusted:
            hint = "Run `mesh backup create` on the machine of the node, as the user of the node."
            raise LocalError(
                "A backup requires the local socket of the node, but this client is connected over TCP.",
                hint=hint,
                code="NOT_ALLOWED",
            )
        self._context.facts.publish_fact(BackupChanged(is_begun=True))
        self._context.out.emit(Backup())
        asked.reply(ReplyValue())

    def _down(self, asked: IncomingCall[AskDown]) -> None:
        asked.reply(ReplyValue())
        self._context.out.emit(Stop())


def _unknown(me: str, verb: str) -> LocalError:
    hint = "That node may run another release: see `mesh info`."
    return LocalError(f"{me} knows no verb {verb[:40]!r}.", hint=hint, code="UNKNOWN_VERB")
