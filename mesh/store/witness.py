"""A small file that records the progress of a store, and so reveals a loss.

A store that lost its last commits, or was replaced by an old copy, looks intact. Therefore its two counters
are also written to this file, a moment later.
"""

import os
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SLOT = 4096  # bytes between the slots: a torn write hits one
_MAGIC = b"witness1"
_FORM = struct.Struct(">8s16sQQQ")
_CRC = struct.Struct(">I")

# Law: the two slots are written in turn, and each is on disk before the other is written. Thus one is always
#      valid, and the file is never ahead of its store.


@dataclass(frozen=True, slots=True)
class Statement:
    """Progress of the store with this id (the node's uuid): boot, number of commits, next log position."""

    store: bytes
    boot: int
    commits: int
    next_position: int

    def pack(self) -> bytes:
        data = _FORM.pack(_MAGIC, self.store, self.boot, self.commits, self.next_position)
        return data + _CRC.pack(zlib.crc32(data))


def unpack(slot: bytes) -> Statement | None:
    """Return the content of a slot, or `None` if it is damaged or was never written."""
    data, crc = slot[: _FORM.size], slot[_FORM.size : _FORM.size + _CRC.size]
    if len(crc) < _CRC.size or _CRC.unpack(crc)[0] != zlib.crc32(data):
        return None
    magic, store, boot, commits, next_position = _FORM.unpack(data)
    return Statement(store, boot, commits, next_position) if magic == _MAGIC else None


def together(found: Iterable[Statement | None], store: bytes) -> Statement | None:
    """Return a statement with the highest figures of all statements about `store`; `None` without any."""
    ours = [it for it in found if it is not None and it.store == store]
    if not ours:
        return None
    return Statement(
        store,
        max(it.boot for it in ours),
        max(it.commits for it in ours),
        max(it.next_position for it in ours),
    )


def read_witness(path: Path, store: bytes) -> Statement | None:
    """Return the statement about `store` in a witness file, or `None`, without writing. Raises: OSError."""
    try:
        content = path.read_bytes()[: 2 * SLOT]
    except FileNotFoundError:
        return None
    return together([unpack(content[:SLOT]), unpack(content[SLOT:])], store)


class Witness:
    """The witness file of one store. `known` is its content, or `None`. Every method may raise OSError."""

    def __init__(self, path: Path, store: bytes, boot: int) -> None:
        self.path = path
        self._store, self._boot = store, boot
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        slots = [unpack(os.pread(self._file, SLOT, place)) for place in (0, SLOT)]
        self.known = together(slots, store)
        self.is_ours = False  # written since it was opened
        known = [it.commits if it is not None and it.store == store else -1 for it in slots]
        self._next = 0 if known[0] <= known[1] else SLOT  # the older or the damaged slot

    def record_progress(self, commits: int, next_position: int) -> None:
        """Record the progress of the store, durably."""
        told = Statement(self._store, self._boot, commits, next_position)
        os.pwrite(self._file, told.pack().ljust(SLOT, b"\0"), self._next)
        os.fsync(self._file)
        self.known, self.is_ours = told, True
        self._next = SLOT - self._next

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
