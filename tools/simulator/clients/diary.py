"""The outbox of a simulated client, which reports sent envelopes and checksums of their contents."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from mesh.streams.outbox import Outbox
from mesh.wire.envelope import Envelope


class Diary(Outbox):
    """An outbox that calls `wrote` with each envelope that leaves for the first time."""

    def __init__(self, window_bytes: int, window_count: int, wrote: Callable[[Envelope], None]) -> None:
        super().__init__(window_bytes, window_count)
        self._wrote = wrote

    def add(self, envelope: Envelope) -> Envelope:
        e = super().add(envelope)
        self._wrote(e)
        return e

    @property
    def is_through(self) -> bool:
        return not any(stream.waiting for stream in self._streams.values())


def sum_of(content: bytes) -> str:
    """Return a checksum that identifies `content` in the history."""
    return f"{crc32(content):08x}"
