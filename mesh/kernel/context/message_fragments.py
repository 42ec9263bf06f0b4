"""Messages sent and received in pieces on all connections of a node, with a bound for each and for all."""

from __future__ import annotations

from mesh.errors import RemoteError
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.effects import Send
from mesh.kernel.context.node_context import NodeContext
from mesh.wire.commands import CLIENT, Piece, PieceAck, Refuse
from mesh.wire.limits import FRAME, INTEREST_FRAME, MAX_CONTENT_EVER, PIECES, TRANSACTIONS
from mesh.wire.pieces import Cutter, Gatherer

TOGETHER = 4 * MAX_CONTENT_EVER  # bytes of all incomplete messages
FROM_PEER = 2 * MAX_CONTENT_EVER  # bytes; an answer may hold many retained values
PATIENCE = 3  # times `silence`, the longest wait for the next piece
BESIDE = 2 * FRAME  # bytes of a message beside its content


class MessageFragments:
    """The incomplete messages in both directions."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context
        self._coming: dict[Conn, float] = {}  # time of the last piece

    def agree(self, conn: Conn) -> None:
        """Enable pieces on an opened connection, if the other end is another process that supports pieces."""
        if PIECES in conn.speaks and not conn.within:
            conn.cutter = Cutter()

    def piece(self, conn: Conn, piece: Piece) -> list[bytes] | None:
        """Add and acknowledge a piece, and return the message if it is complete.

        To make room, connections with more bytes of incomplete messages are closed. Raises: RemoteError for
        an invalid piece, or if there is no room for it.
        """
        if conn.gatherer is None:
            conn.gatherer = self._gatherer(conn)
        while self.held + len(piece.data) > TOGETHER:
            self._make_room(conn, conn.gatherer.held + len(piece.data))
        message = conn.gatherer.add_piece(piece)
        self._context.out.send(conn, PieceAck(conn.gatherer.taken))
        if message is not None:
            self._coming.pop(conn, None)
            return message
        self._coming[conn] = self._context.clock.now
        self._context.clock.wake(self._context.clock.now + PATIENCE * self._context.settings.silence)
        return None

    def _make_room(self, conn: Conn, size: int) -> None:
        """Close the connection that holds the most bytes of incomplete messages.

        Raises: RemoteError if no connection holds more than `size`, the bytes of `conn` with its next piece.
        """
        what = f"incomplete messages take {self.held} bytes; the limit is {TOGETHER}"
        most = max(self._coming, key=_held, default=conn)
        if _held(most) <= size:
            raise RemoteError(what, code="NO_ROOM")
        self._context.out.log_line("warning", f"{what}; the connection with most of them is closed")
        self._context.out.send(most, Refuse("NO_ROOM", what))
        self._context.end_connection(most)

    def _gatherer(self, conn: Conn) -> Gatherer:
        if conn.role == CLIENT:
            most = self._context.settings.max_content
            if TRANSACTIONS in conn.speaks:
                most = max(most, self._context.settings.transaction_bytes)
            return Gatherer(most + BESIDE)
        return Gatherer(FROM_PEER, INTEREST_FRAME)

    @property
    def held(self) -> int:
        for conn in [conn for conn in self._coming if conn.closed]:
            del self._coming[conn]
        return sum(map(_held, self._coming))

    def on_acked(self, conn: Conn, ack: PieceAck) -> None:
        """Send the next pieces after an acknowledgement. Raises: RemoteError if pieces were never sent."""
        if conn.cutter is None:
            raise RemoteError("pieces were acknowledged that were never sent", code="FORGED_ACK")
        for frames in conn.cutter.on_acked(ack.taken):
            self._context.out.emit(Send(conn.key, frames))

    def lagged(self, seconds: float, now: float) -> None:
        """Extend all deadlines by the `seconds` for which this node stood still and read no pieces."""
        self._coming = {conn: min(last + seconds, now) for conn, last in self._coming.items()}

    def stopped(self) -> list[Conn]:
        """Return connections with an incomplete message whose next piece is overdue."""
        late = self._context.clock.now - PATIENCE * self._context.settings.silence
        return [conn for conn, last in self._coming.items() if last <= late and not conn.closed]


def _held(conn: Conn) -> int:
    return conn.gatherer.held if conn.gatherer is not None else 0
