"""Commands of sessions that wait until a transaction over several stores is over."""

# Law: while the stream of a session is held, its messages and transactions wait, in their order, and are not
#      examined before.

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.errors import MeshError, RemoteError
from mesh.kernel.context.conn import Conn
from mesh.wire.envelope import Envelope

MOST = 64 * 2**20  # bytes that may wait for each session
OVERHEAD = 1000  # bytes of a command

Failed = Callable[[Conn, MeshError], None]


class HeldStreams:
    """The streams that are held, with the commands that wait for each.

    `failed(conn, error)` handles a command that is rejected later.
    """

    def __init__(self, failed: Failed) -> None:
        self._failed = failed
        self._waiting: dict[bytes, list[tuple[Conn, Callable[[], None]]]] = {}
        self._bytes: dict[bytes, int] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def hold(self, stream: bytes) -> None:
        self._waiting.setdefault(stream, [])
        self._bytes.setdefault(stream, 0)

    def defer(
        self, conn: Conn, stream: bytes, again: Callable[[], None], envelopes: Sequence[Envelope]
    ) -> bool:
        """Return whether the stream is held; if so, `again` is called later, unless the connection ends.

        Raises: RemoteError if too much waits.
        """
        waiting = self._waiting.get(stream)
        if waiting is None:
            return False
        self._bytes[stream] += OVERHEAD + sum(len(e.body) for e in envelopes)
        if self._bytes[stream] > MOST:
            what = "the session sends too much while one of its transactions is not finished"
            raise RemoteError(what, code="TOO_LARGE")
        waiting.append((conn, again))
        return True

    def release(self, stream: bytes) -> None:
        """Process the commands that wait, until one of them holds the stream again."""
        waiting = self._waiting.pop(stream, [])
        self._bytes.pop(stream, None)
        while waiting:
            conn, again = waiting.pop(0)
            if conn.closed:
                continue
            try:
                again()
            except MeshError as error:
                self._failed(conn, error)
            if stream in self._waiting:
                self._waiting[stream] += waiting
                self._bytes[stream] += OVERHEAD * len(waiting)
                return
