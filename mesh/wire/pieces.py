"""Sends and receives long messages in pieces, within a small window of unacknowledged bytes.

Pings pass between the pieces, and each acknowledged piece shows that both ends are alive. Pieces need the
feature PIECES; messages of up to WHOLE bytes are not cut.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from mesh.errors import RemoteError
from mesh.wire.commands import Bye, Piece, PieceAck, Ping, Pong, Refuse, Who, encode
from mesh.wire.limits import FRAME, FRAMES, PIECE, PIECES_WINDOW, WHOLE

# Commands that may overtake a message in pieces without a change of meaning.
PASSING = frozenset(kind.__struct_config__.tag for kind in (Ping, Pong, PieceAck, Bye, Refuse, Who))

FEW, SHORT = 3, WHOLE // 2  # frames; bytes of the last frame
Frames = list[bytes]  # of one message


class Cutter:
    """The sending end of one connection. It keeps the order, except that PASSING commands may overtake."""

    def __init__(self) -> None:
        self.is_busy: bool = False  # a message was sent in part
        self._line: deque[Frames] = deque()  # queued messages
        self._pieces: Iterator[Piece] = iter(())
        self._sent = self._taken = 0  # bytes in pieces

    def cut(self, message: Frames) -> list[Frames]:
        """Add a message, and return the messages to send now."""
        if self.is_busy:
            if len(message) == 1 and message[0][1] in PASSING:
                return [message]
            self._line.append(message)
            return []
        if is_short(message) or sum(map(len, message)) <= WHOLE:
            return [message]
        self._line.append(message)
        return self._next()

    def on_acked(self, taken: int) -> list[Frames]:
        """Record that the other end has `taken` bytes of pieces, and return the messages to send now.

        Raises: RemoteError FORGED_ACK if that is more than was sent.
        """
        if taken > self._sent:
            raise RemoteError(
                f"{taken} bytes of pieces were acknowledged, but {self._sent} were sent", code="FORGED_ACK"
            )
        self._taken = max(taken, self._taken)
        return self._next()

    def _next(self) -> list[Frames]:
        leaving: list[Frames] = []
        while self._sent - self._taken < PIECES_WINDOW:
            piece = next(self._pieces, None)
            if piece is not None:
                self._sent += len(piece.data)
                leaving.append([encode(piece)])
            elif not self._line:
                self.is_busy = False
                break
            else:
                message = self._line.popleft()
                self.is_busy = sum(map(len, message)) > WHOLE
                if self.is_busy:
                    self._pieces = cut(message)
                else:
                    leaving.append(message)
        return leaving


def is_short(message: Frames) -> bool:
    """Return whether a message is surely short: at most a command, a header and a short body."""
    return len(message) <= FEW and len(message[-1]) <= SHORT


def cut(message: Frames) -> Iterator[Piece]:
    """Yield the pieces of a message; the first piece contains the sizes of all frames."""
    sizes = tuple(map(len, message))
    parts: list[bytes] = []
    room = PIECE
    for frame in message:
        at = 0
        while at < len(frame):
            parts.append(frame[at : at + room])
            at += len(parts[-1])
            room -= len(parts[-1])
            if not room:
                yield Piece(sizes, b"".join(parts))
                sizes, parts, room = (), [], PIECE
    if parts:
        yield Piece(sizes, b"".join(parts))


class Gatherer:
    """The receiving end of one connection: one message at a time, of at most `most` bytes."""

    def __init__(self, most: int, command: int = FRAME) -> None:
        self.taken: int = 0  # bytes of pieces, since the connection began
        self.held: int = 0  # bytes of the incomplete message
        self._most = most
        self._command = command  # max bytes of the first frame, even above FRAME
        self._sizes: Sequence[int] = ()  # of its frames; () = no message
        self._frames: Frames = []  # its complete frames
        # The start of the next frame. A list of many small parts would need far more memory.
        self._part = bytearray()
        self._lack = 0  # bytes missing in the next frame

    def add_piece(self, piece: Piece) -> Frames | None:
        """Return the message after its last piece, else `None`. Raises: RemoteError for an invalid piece."""
        if piece.sizes:
            self._begin(piece.sizes)
        if not self._sizes or not piece.data:
            raise RemoteError("a piece is empty, or belongs to no message", code="MALFORMED")
        self.taken += len(piece.data)
        self.held += len(piece.data)
        if self.held > sum(self._sizes):
            raise RemoteError("the pieces have more bytes than were announced", code="MALFORMED")
        rest = memoryview(piece.data)
        while rest:
            part, rest = rest[: self._lack], rest[self._lack :]
            self._part += part
            self._lack -= len(part)
            self._close_frames()
        return self._take_message() if len(self._frames) == len(self._sizes) else None

    def _begin(self, sizes: Sequence[int]) -> None:
        if self._sizes:
            raise RemoteError("a message in pieces begins within another one", code="MALFORMED")
        longest = max(sizes[1:], default=0)
        if len(sizes) > FRAMES or longest > FRAME or sizes[0] > self._command or sum(sizes) > self._most:
            text = (
                f"a message in pieces has {len(sizes)} frames and {sum(sizes)} bytes, above the limits here"
            )
            raise RemoteError(text, code="TOO_LARGE")
        self._sizes, self._lack = sizes, sizes[0]
        self._close_frames()

    def _close_frames(self) -> None:
        while not self._lack and len(self._frames) < len(self._sizes):
            self._frames.append(bytes(self._part))
            self._part = bytearray()
            done = len(self._frames)
            self._lack = self._sizes[done] if done < len(self._sizes) else 0

    def _take_message(self) -> Frames:
        message = self._frames
        self._sizes, self._frames, self.held = (), [], 0
        if message[0][1:2] == encode(Piece((), b""))[1:2]:
            raise RemoteError("a message in pieces contains a piece", code="MALFORMED")
        return message
