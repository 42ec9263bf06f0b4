"""A client's connection as frames: commands and envelopes in, frames out, and long ones in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import read, write
from mesh.wire.limits import DIRTY, DURABLE, FRAME, FRAMES, GAPS, LETTERS, PIECES, QUEUES, SERVICES, STAYS
from mesh.wire.pieces import Cutter, Frames, Gatherer, is_short
from mesh.wire.spoken import UNKNOWN_IS_TOLD, Seldom, agreed, in_common

# What it knows beyond its version of the wire.
SPEAKS = (PIECES, SERVICES, QUEUES, DURABLE, STAYS, LETTERS, DIRTY, GAPS)
OURS = frozenset((c.Welcome, c.Piece, c.PieceAck))  # commands, that say how others travel


class Framing:
    """One connection, from its first frame to its last. `put` puts a message of frames on the wire."""

    def __init__(self, put: Callable[[Frames], None]) -> None:
        self._put = put
        self._version = 0  # of the wire, that both speak, once the node has said WELCOME
        self._unknown = Seldom()
        self._cutter: Cutter | None = None
        self._gatherer = Gatherer(0)

    def send(self, command: c.Command, envelopes: tuple[Envelope, ...] = ()) -> None:
        frames, cutter = write(command, envelopes), self._cutter
        # As a rule it is short, and nothing is before it: that must be found at a glance.
        if cutter is None or (not cutter.is_busy and (not envelopes or is_short(frames))):
            self._put(frames)
        else:
            self._put_all(cutter.send(frames))

    def _put_all(self, messages: Iterable[Frames]) -> None:
        for frames in messages:
            self._put(frames)

    def received(self, now: float, frames: Frames) -> tuple[c.AnyCommand, list[Envelope]] | None:
        """The command in these frames; None: a part of something that is too long to come, or go, at once.

        RemoteError when it cannot be read. What a later release may say is answered, and counts as None.
        """
        try:
            command, envelopes = read(frames)
            if type(command) in OURS:  # of a hundred commands perhaps one
                return self._heard(command, envelopes)
        except c.UnknownCommand as error:
            if self._version < UNKNOWN_IS_TOLD:
                raise
            if self._unknown.allows(now):
                self.send(c.Unknown(error.tag, error.field))
            return None
        return command, envelopes

    def _heard(
        self, command: c.AnyCommand, envelopes: list[Envelope]
    ) -> tuple[c.AnyCommand, list[Envelope]] | None:
        """The rest of it when what concerns frames is done."""
        match command:
            case c.Welcome() if not self._version:
                self._begin(command)
            case c.Piece():
                return self._piece(command)
            case c.PieceAck():
                if self._cutter is not None:
                    self._put_all(self._cutter.acked(command.taken))
                return None
        return command, envelopes

    def _begin(self, welcome: c.Welcome) -> None:
        self._version = agreed(welcome.version, welcome.version)
        if PIECES in in_common(self._version, welcome.speaks, SPEAKS):
            self._cutter = Cutter()
            self._gatherer = Gatherer(FRAMES * FRAME)

    def _piece(self, piece: c.Piece) -> tuple[c.AnyCommand, list[Envelope]] | None:
        frames = self._gatherer.take(piece)
        self.send(c.PieceAck(self._gatherer.taken))
        return None if frames is None else read(frames)
