"""How far was the store, as told by somebody else? A small file beside it, by which a loss is noticed.

A store that lost its last commits, or was put back from a copy, is sound in itself: nothing in it says
that there was more. So its two counters are written into another file as well, a moment later.
"""

import os
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SLOT = 4096  # bytes from one slot to the other: no torn write reaches both
_MAGIC = b"witness1"
_FORM = struct.Struct(">8s16sQQQ")
_CRC = struct.Struct(">I")

# Law: the two slots are written in turn, and each is on disk before the other is touched. So there is
#      always a whole one, and it is never ahead of the store that it speaks of.


@dataclass(frozen=True, slots=True)
class Statement:
    """Of the store with this id (the node's uuid): a boot of its node, how many commits, and the next
    position of its log."""

    store: bytes
    boot: int
    commits: int
    next_position: int

    def pack(self) -> bytes:
        """The bytes of a slot."""
        data = _FORM.pack(_MAGIC, self.store, self.boot, self.commits, self.next_position)
        return data + _CRC.pack(zlib.crc32(data))


def unpack(slot: bytes) -> Statement | None:
    """The inverse of `pack`, whatever follows; None when it is damaged, or was never written."""
    data, crc = slot[: _FORM.size], slot[_FORM.size : _FORM.size + _CRC.size]
    if len(crc) < _CRC.size or _CRC.unpack(crc)[0] != zlib.crc32(data):
        return None
    magic, store, boot, commits, next_position = _FORM.unpack(data)
    return Statement(store, boot, commits, next_position) if magic == _MAGIC else None


def together(found: Iterable[Statement | None], store: bytes) -> Statement | None:
    """The most that is known of this store; None when nothing is."""
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
    """What it says of this store, without a claim to it; None: nothing, or it is not there. OSError."""
    try:
        content = path.read_bytes()[: 2 * SLOT]
    except FileNotFoundError:
        return None
    return together([unpack(content[:SLOT]), unpack(content[SLOT:])], store)


class Witness:
    """The file. `known` is what it says; OSError as it comes."""

    def __init__(self, path: Path, store: bytes, boot: int) -> None:
        self.path = path
        self._store, self._boot = store, boot
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        slots = [unpack(os.pread(self._file, SLOT, place)) for place in (0, SLOT)]
        self.known = together(slots, store)
        self.is_ours = False  # it was written since
        known = [it.commits if it is not None and it.store == store else -1 for it in slots]
        self._next = 0 if known[0] <= known[1] else SLOT  # the older one, or the damaged one

    def write(self, commits: int, next_position: int) -> None:
        """The store has come so far. On disk when this returns."""
        told = Statement(self._store, self._boot, commits, next_position)
        os.pwrite(self._file, told.pack().ljust(SLOT, b"\0"), self._next)
        os.fsync(self._file)
        self.known, self.is_ours = told, True
        self._next = SLOT - self._next

    def close(self) -> None:
        """A second time does no harm."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
