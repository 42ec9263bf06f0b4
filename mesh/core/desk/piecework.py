"""Which messages come and go in pieces, on all connections of a node? Bounded for each, and together."""

from __future__ import annotations

from mesh.core.desk.conn import Conn
from mesh.core.desk.desk import Desk
from mesh.core.desk.effects import Send
from mesh.errors import RemoteError
from mesh.wire.commands import CLIENT, Piece, PieceAck, Refuse
from mesh.wire.limits import FRAME, INTEREST_FRAME, MAX_CONTENT_EVER, PIECES
from mesh.wire.pieces import Cutter, Gatherer

TOGETHER = 4 * MAX_CONTENT_EVER  # bytes of messages of which a part is still to come
FROM_PEER = 2 * MAX_CONTENT_EVER  # bytes of one message: an answer may hold many last values
PATIENCE = 3  # times as long as a connection may be silent, until the next piece
BESIDE = 2 * FRAME  # bytes that a client may say with a content


class Piecework:
    """The messages that are not whole yet, here and at the other ends."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._coming: dict[Conn, float] = {}  # when the last piece of a message came that is not whole

    def agree(self, conn: Conn) -> None:
        """A connection is open."""
        if PIECES in conn.speaks and not conn.within:
            conn.cutter = Cutter()

    def piece(self, conn: Conn, piece: Piece) -> list[bytes] | None:
        """A part of a message; the message, if it is whole now. RemoteError when it cannot be one, or when
        there is no room for it.
        """
        if conn.gatherer is None:
            conn.gatherer = self._gatherer(conn)
        while self.held + len(piece.data) > TOGETHER:
            self._make_room(conn, conn.gatherer.held + len(piece.data))
        message = conn.gatherer.take(piece)
        self._desk.send(conn, PieceAck(conn.gatherer.taken))
        if message is not None:
            self._coming.pop(conn, None)
            return message
        self._coming[conn] = self._desk.now
        self._desk.wake(self._desk.now + PATIENCE * self._desk.settings.silence)
        return None

    def _make_room(self, conn: Conn, size: int) -> None:
        """Cut off whoever holds most: who has brought much, and goes no further, must not be in the way of
        others. RemoteError when that is the one itself, who would hold `size` with its next piece.
        """
        what = f"{self.held} bytes of unfinished messages are here, at most {TOGETHER} allowed"
        most = max(self._coming, key=_held, default=conn)
        if _held(most) <= size:
            raise RemoteError(what, code="NO_ROOM")
        self._desk.note("warning", f"{what}: the connection that brought most of them is closed")
        self._desk.send(most, Refuse("NO_ROOM", what))
        self._desk.end(most)

    def _gatherer(self, conn: Conn) -> Gatherer:
        if conn.role == CLIENT:
            return Gatherer(self._desk.settings.max_content + BESIDE)
        return Gatherer(FROM_PEER, INTEREST_FRAME)

    @property
    def held(self) -> int:
        """Bytes of messages that are not whole."""
        for conn in [conn for conn in self._coming if conn.closed]:
            del self._coming[conn]
        return sum(map(_held, self._coming))

    def acked(self, conn: Conn, ack: PieceAck) -> None:
        """Send what an acknowledgement of pieces makes room for. RemoteError when it cannot be one."""
        if conn.cutter is None:
            raise RemoteError("an acknowledgement of pieces, and none was sent", code="FORGED_ACK")
        for frames in conn.cutter.acked(ack.taken):
            self._desk.emit(Send(conn.key, frames))

    def stopped(self) -> list[Conn]:
        """Connections that began a message, and bring no more of it though all that came is acknowledged."""
        late = self._desk.now - PATIENCE * self._desk.settings.silence
        return [conn for conn, last in self._coming.items() if last <= late and not conn.closed]


def _held(conn: Conn) -> int:
    """Bytes of a message that comes there and is not whole."""
    return conn.gatherer.held if conn.gatherer is not None else 0
