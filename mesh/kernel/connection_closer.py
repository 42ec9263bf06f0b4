"""Closes connections that break the protocol, send nothing, or stay without a valid HELLO."""

from __future__ import annotations

from mesh.errors import LocalError, MeshError, RemoteError
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.settings import CONNECT
from mesh.kernel.parts import Parts
from mesh.loglevels import ACCESS
from mesh.printable import harmless
from mesh.wire.commands import UnknownCommand


class ConnectionCloser:
    """Closes connections of one node, for as long as the node runs."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._context, self._conns = parts, parts.context, parts.dialler.conns

    def on_rejected_command(self, conn: Conn, error: RemoteError | LocalError) -> None:
        """Close a connection because of a command that was rejected, unless it may be a newer one."""
        if not (isinstance(error, UnknownCommand) and self._parts.reception.is_unknown(conn, error)):
            self.on_protocol_error(conn, error)

    def close_poisoned(self, conn: Conn) -> str:
        """Close a connection because of a message at which this node failed, and return its sender."""
        who = self._sender_of(conn)
        self.on_protocol_error(
            conn, RemoteError("this message caused an earlier failure of the node", code="POISONED")
        )
        return who

    def on_protocol_error(self, conn: Conn, error: MeshError) -> None:
        """Close a connection whose other end broke the protocol, and report the `error`."""
        peer = self._parts.neighbours.of(conn)
        self._context.broke_protocol(conn, self._sender_of(conn), peer.node if peer else None, error)

    def _sender_of(self, conn: Conn) -> str:
        """Return the name of the session or the node at the other end, as text for users."""
        role = self._context.face.connection_roles.get(conn.role)
        if role is not None and (text := role.describe_sender(conn)):
            return text
        session, peer = self._parts.sessions.session_of(conn), self._parts.neighbours.of(conn)
        return session.text if session else peer.node.name if peer else "a stranger"

    def close_overdue(self) -> None:
        """Close connections that are silent, have stopped amid a message, or have not sent a valid HELLO."""
        now = self._context.clock.now
        self._parts.clients.silent.disconnect_silent(self._conns.values())
        for conn in self._parts.piecework.stopped():
            self.on_protocol_error(
                conn, RemoteError("the rest of a message did not arrive in time", code="STOPPED")
            )
        for conn in self._conns.values():
            if not (conn.is_open or conn.dialled) and now - conn.opened > CONNECT:
                self._context.out.hang_up(conn)

    def log_repeats(self) -> None:
        """Log how often peers repeated an error that was logged once, a minute after it."""
        for (who, why), count in self._context.refusals.take_counts(self._context.clock.now).items():
            text = f"refused {harmless(f'{who}: {why}')}: {count:,} more times in a minute"
            self._context.out.log_line("info", text, ACCESS)

    def forget_closed(self) -> None:
        for key in [k for k, x in self._conns.items() if x.closed]:
            del self._conns[key]
