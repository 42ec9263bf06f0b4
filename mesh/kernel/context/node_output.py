"""The output of a node during one event, which its shell carries out afterwards."""

# Law 1: effects are carried out in the order in which they were emitted.
# Law 2: nothing is sent on a closed connection, and nothing overtakes a message that is being sent in pieces.
# Law 3: a command that needs a feature is sent only to an end that has the feature.

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mesh.errors import LocalError
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.effects import Effect, HangUp, LogLine, Send
from mesh.loglevels import NODE
from mesh.wire.commands import Command, Reply
from mesh.wire.envelope import Envelope
from mesh.wire.frames import write
from mesh.wire.pieces import FEW, SHORT

if TYPE_CHECKING:
    from mesh.kernel.context.outlet import Keyed, Outlet
    from mesh.routing.envelope_slice import EnvelopeSlice


class NodeOutput:
    """The effects of the current event, and the output that is gathered until the event ends."""

    def __init__(self) -> None:
        self.effects: list[Effect] = []
        self.outlets: dict[Outlet, None] = {}  # with something to send
        self.ending: dict[Callable[[], None], None] = {}  # to be called at the event's end

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def send(self, conn: Conn | None, command: Command, envelopes: Sequence[Envelope] = ()) -> None:
        """Send a command on an open connection, if the other end has the feature that the command needs.

        Nothing is sent if `conn` is `None` or closed.
        """
        if conn is not None and not conn.closed and (not command.word or command.word in conn.speaks):
            frames = write(command, envelopes)
            if not envelopes and (conn.cutter is None or not conn.cutter.is_busy):
                self.effects.append(Send(conn.key, frames))
            else:
                self.raw(conn, frames)

    def reply_to(self, conn: Conn, request: int, work: Callable[[], None]) -> None:
        """Call `work` for a request, and reply with the error if it raises LocalError."""
        try:
            work()
        except LocalError as error:
            self.send(conn, Reply(request, code=error.code, text=str(error)))

    def push_slice(self, outlet: Outlet, feed: Keyed, slice_: EnvelopeSlice) -> None:
        """Put a slice into an outlet, which is flushed at the end of the event."""
        outlet.push_slice(feed, slice_)
        self.outlets[outlet] = None

    def raw(self, conn: Conn, frames: list[bytes]) -> None:
        if conn.closed:
            return
        cutter = conn.cutter
        # Most messages are short and have none before them, so this check comes first.
        if cutter is None or (len(frames) <= FEW and len(frames[-1]) <= SHORT and not cutter.is_busy):
            self.effects.append(Send(conn.key, frames))
            return
        for message in cutter.cut(frames):
            self.effects.append(Send(conn.key, message))

    def hang_up(self, conn: Conn) -> None:
        if not conn.closed:
            conn.close()
            self.emit(HangUp(conn.key))

    def log_line(self, level: str, text: str, logger: str = NODE) -> None:
        self.emit(LogLine(level, text, logger))
