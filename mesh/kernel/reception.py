"""Dispatches each command by its sender, and handles commands about the connection itself."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.kernel.admission import Admission
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.message_fragments import MessageFragments
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.subscribers.sessions import Sessions
from mesh.wire import commands as c
from mesh.wire.commands import CLIENT, NODE_CONTROL, NODE_DATA, Refuse, UnknownCommand
from mesh.wire.envelope import Envelope
from mesh.wire.expiry import shifted
from mesh.wire.frames import read
from mesh.wire.spoken import UNKNOWN_IS_TOLD

NODES = (NODE_DATA, NODE_CONTROL)  # roles


class Reception(Component):
    """Component that dispatches commands by their type and the kind of their sender."""

    def __init__(
        self,
        context: NodeContext,
        admission: Admission,
        sessions: Sessions,
        neighbours: Neighbours,
        piecework: MessageFragments,
    ) -> None:
        self._context = context
        self._from_clients, self._from_peers = context.face.from_clients, context.face.from_peers
        self._from_gateways = context.face.from_gateways
        self._admission = admission
        self._sessions = sessions
        self._neighbours = neighbours
        self._piecework = piecework
        self._roles = context.face.connection_roles

    def from_clients(self) -> Sequence[HandlerEntry]:
        return self._from_both()

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (
            *self._from_both(),
            on_command(c.Who, lambda conn, peer, command, _: self._context.end_connection(conn)),
        )

    def from_gateways(self) -> Sequence[HandlerEntry]:
        return self._from_all()

    def _from_both(self) -> Sequence[HandlerEntry]:
        return (
            on_command(c.Ping, lambda conn, who, command, _: self._ping(conn, command)),
            *self._from_all(),
        )

    def _from_all(self) -> Sequence[HandlerEntry]:
        return (
            on_command(c.Piece, lambda conn, who, command, _: self._piece(conn, command)),
            on_command(
                c.Unknown, lambda conn, who, command, _: self._context.counters.add_count("not_understood")
            ),
            on_command(c.PieceAck, lambda conn, who, command, _: self._piecework.on_acked(conn, command)),
        )

    def dispatch(self, conn: Conn, command: c.Command, envelopes: list[Envelope]) -> None:
        """Pass a command to its handler. Raises: RemoteError if the sender may not send the command."""
        if envelopes and conn.clock.shift:  # from here on, expiry times are by our clock
            envelopes = [shifted(envelope, conn.clock.shift) for envelope in envelopes]
        if not conn.is_open or isinstance(command, Refuse):
            self._shake_hands(conn, command)
        elif conn.role == CLIENT:
            session = self._sessions.session_of(conn)
            if session is not None:
                session.has_spoken = True
                self._from_clients[type(command)](conn, session, command, envelopes)
        elif conn.role in NODES:
            peer = self._neighbours.of(conn)
            if peer is not None:
                self._neighbours.on_sign_of_life(peer)
                self._from_peers[type(command)](conn, peer, command, envelopes)
        else:
            sender = self._roles[conn.role].sender_of(conn)
            if sender is not None:
                self._from_gateways[type(command)](conn, sender, command, envelopes)

    def _ping(self, conn: Conn, ping: c.Ping) -> None:
        conn.clock.tells(ping.wall, self._context.clock.believed)
        self._context.out.send(conn, c.Pong(ping.stamp))

    def is_unknown(self, conn: Conn, command: UnknownCommand) -> bool:
        """Return whether the connection tolerates an unknown command; if so, report it to the sender."""
        if not conn.is_open or conn.version < UNKNOWN_IS_TOLD:
            return False
        self._context.counters.add_count("unknown_commands")
        if conn.unknown.allows(self._context.clock.now):
            self._context.out.send(conn, c.Unknown(command.tag, command.field))
        return True

    def _shake_hands(self, conn: Conn, command: c.Command) -> None:
        if isinstance(command, (c.Hello, c.Welcome)):
            conn.clock.tells(command.wall, self._context.clock.believed)
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
                self._context.end_connection(conn)
            case c.Who() | c.Bye() | c.Refuse():
                pass  # answering these would never end
            case _:
                self._context.counters.add_count("not_open")
                self._context.out.send(conn, c.Who())

    def _piece(self, conn: Conn, piece: c.Piece) -> None:
        frames = self._piecework.piece(conn, piece)
        if frames is not None:
            self.dispatch(conn, *read(frames, self._context.settings.max_content))
