"""Encodes and decodes the commands of a client's connection; long ones travel in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mesh.flow.seldom import Seldom
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import read, write
from mesh.wire.limits import (
    DIRECT,
    DIRTY,
    DURABLE,
    FRAME,
    FRAMES,
    GAPS,
    HISTORY,
    LETTERS,
    PIECES,
    QUEUES,
    QUIET,
    SERVICES,
    STAYS,
    TRANSACTIONS,
    VISITS,
)
from mesh.wire.pieces import Cutter, Frames, Gatherer, is_short
from mesh.wire.spoken import A_SECOND, UNKNOWN_IS_TOLD, agreed, in_common

# The features of this client beyond its version of the wire.
SPEAKS = (
    *(PIECES, SERVICES, QUEUES, DURABLE, STAYS, LETTERS, DIRTY, GAPS, QUIET, HISTORY, DIRECT, VISITS),
    TRANSACTIONS,
)
OURS = frozenset((c.Welcome, c.Piece, c.PieceAck))  # commands about framing


class Framing:
    """The frames of one connection. `put` sends a message of frames."""

    def __init__(self, put: Callable[[Frames], None]) -> None:
        self._put = put
        self._version = 0  # common wire version, after WELCOME
        self._unknown = Seldom(1.0, A_SECOND)
        self._cutter: Cutter | None = None
        self._gatherer = Gatherer(0)

    def send_command(self, command: c.Command, envelopes: tuple[Envelope, ...] = ()) -> None:
        frames, cutter = write(command, envelopes), self._cutter
        # Most commands are short and find the connection idle, so this test must be fast.
        if cutter is None or (not cutter.is_busy and (not envelopes or is_short(frames))):
            self._put(frames)
        else:
            self._put_all(cutter.cut(frames))

    def _put_all(self, messages: Iterable[Frames]) -> None:
        for frames in messages:
            self._put(frames)

    def read_command(self, now: float, frames: Frames) -> tuple[c.Command, list[Envelope]] | None:
        """Return the command in a message of frames, or None if there is none for the core.

        None stands for a piece that is not the last, an acknowledgement of pieces, or an unknown command,
        which may be answered with UNKNOWN. Raises: RemoteError for bad frames, and for an unknown command of
        a node that predates UNKNOWN.
        """
        try:
            command, envelopes = read(frames)
            if type(command) in OURS:  # about one command in a hundred
                return self._handle_framing(command, envelopes)
        except c.UnknownCommand as error:
            if self._version < UNKNOWN_IS_TOLD:
                raise
            if self._unknown.allows(now):
                self.send_command(c.Unknown(error.tag, error.field))
            return None
        return command, envelopes

    def _handle_framing(
        self, command: c.Command, envelopes: list[Envelope]
    ) -> tuple[c.Command, list[Envelope]] | None:
        match command:
            case c.Welcome() if not self._version:
                self._begin(command)
            case c.Piece():
                return self._piece(command)
            case c.PieceAck():
                if self._cutter is not None:
                    self._put_all(self._cutter.on_acked(command.taken))
                return None
        return command, envelopes

    def _begin(self, welcome: c.Welcome) -> None:
        self._version = agreed(welcome.version, welcome.version)
        if PIECES in in_common(self._version, welcome.speaks, SPEAKS):
            self._cutter = Cutter()
            self._gatherer = Gatherer(FRAMES * FRAME)

    def _piece(self, piece: c.Piece) -> tuple[c.Command, list[Envelope]] | None:
        frames = self._gatherer.add_piece(piece)
        self.send_command(c.PieceAck(self._gatherer.taken))
        return None if frames is None else read(frames)
