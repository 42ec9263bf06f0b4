"""How does a message of 64 MiB travel over a slow line? In pieces behind a small window.

So pings pass between them, and each that is acknowledged shows that both ends live. Only with who `speaks`
PIECES; messages up to WHOLE travel as they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from mesh.errors import RemoteError
from mesh.wire.commands import Bye, Piece, PieceAck, Ping, Pong, Refuse, Who, encode
from mesh.wire.limits import FRAME, FRAMES, PIECE, PIECES_WINDOW, WHOLE

# What does not wait behind a message that is on its way, nor change what it means.
PASSING = frozenset(kind.__struct_config__.tag for kind in (Ping, Pong, PieceAck, Bye, Refuse, Who))

FEW, SHORT = 3, WHOLE // 2  # frames; bytes of the last of them
Frames = list[bytes]  # of one message


class Cutter:
    """The sending end of one connection: what leaves when. Order is kept but for what may pass."""

    def __init__(self) -> None:
        self.is_busy: bool = False  # a message is on its way of which not all has left
        self._line: deque[Frames] = deque()  # behind it
        self._pieces: Iterator[Piece] = iter(())
        self._sent = self._taken = 0  # bytes in pieces

    def send(self, message: Frames) -> list[Frames]:
        """The messages that leave now that this one is to be sent."""
        if self.is_busy:
            if len(message) == 1 and message[0][1] in PASSING:
                return [message]
            self._line.append(message)
            return []
        if is_short(message) or sum(map(len, message)) <= WHOLE:
            return [message]
        self._line.append(message)
        return self._next()

    def acked(self, taken: int) -> list[Frames]:
        """The messages that leave now that the other end has so many bytes in pieces."""
        if taken > self._sent:
            raise RemoteError(
                f"{taken} bytes of pieces acknowledged, {self._sent} were sent", code="FORGED_ACK"
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
    """Found at a glance, as it is of nearly all: a command, a header and a body, or less."""
    return len(message) <= FEW and len(message[-1]) <= SHORT


def cut(message: Frames) -> Iterator[Piece]:
    """The pieces of a message; the first says how long each frame is."""
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
    """The receiving end of one connection: at most one message at a time, of at most so many bytes."""

    def __init__(self, most: int, command: int = FRAME) -> None:
        self.taken: int = 0  # bytes in pieces, since the connection began
        self.held: int = 0  # bytes of the message that is coming
        self._most = most
        self._command = command  # bytes of the first frame, at most: alone it may be longer than ZeroMQ takes
        self._sizes: Sequence[int] = ()  # of its frames; () = none is coming
        self._frames: Frames = []  # of these, those that are whole,
        # and what there is of the next one. Not a list of parts: many small ones would take far more.
        self._part = bytearray()
        self._lack = 0  # bytes of that

    def take(self, piece: Piece) -> Frames | None:
        """The message, when this was the last of it. RemoteError when it cannot be a piece."""
        if piece.sizes:
            self._begin(piece.sizes)
        if not self._sizes or not piece.data:
            raise RemoteError("a piece of nothing", code="MALFORMED")
        self.taken += len(piece.data)
        self.held += len(piece.data)
        if self.held > sum(self._sizes):
            raise RemoteError("more in pieces than was announced", code="MALFORMED")
        rest = memoryview(piece.data)
        while rest:
            part, rest = rest[: self._lack], rest[self._lack :]
            self._part += part
            self._lack -= len(part)
            self._close_frames()
        return self._end() if len(self._frames) == len(self._sizes) else None

    def _begin(self, sizes: Sequence[int]) -> None:
        if self._sizes:
            raise RemoteError("a message in pieces begins within another one", code="MALFORMED")
        longest = max(sizes[1:], default=0)
        if len(sizes) > FRAMES or longest > FRAME or sizes[0] > self._command or sum(sizes) > self._most:
            text = f"{len(sizes)} frames of {sum(sizes)} bytes in pieces, at most {self._most} allowed here"
            raise RemoteError(text, code="TOO_LARGE")
        self._sizes, self._lack = sizes, sizes[0]
        self._close_frames()

    def _close_frames(self) -> None:
        """Of the frame that is coming nothing lacks; nor of empty ones behind it."""
        while not self._lack and len(self._frames) < len(self._sizes):
            self._frames.append(bytes(self._part))
            self._part = bytearray()
            done = len(self._frames)
            self._lack = self._sizes[done] if done < len(self._sizes) else 0

    def _end(self) -> Frames:
        message = self._frames
        self._sizes, self._frames, self.held = (), [], 0
        if message[0][1:2] == encode(Piece((), b""))[1:2]:
            raise RemoteError("a piece in pieces", code="MALFORMED")
        return message
