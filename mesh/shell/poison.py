"""Which messages has this node failed over? Their digests outlive it, so that none ends it a second time.

A message that was under way alone when the core failed is guilty. Of several, as when it failed at the end of
a turn, each is a suspect: it is heard alone the next time, and guilty if the core fails then.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import Enum, auto
from hashlib import blake2b
from pathlib import Path

import msgspec

from mesh.core.access.door import SOFTWARE
from mesh.errors import RemoteError
from mesh.local.private import read_private, write_private
from mesh.wire.frames import resent
from mesh.wire.pieces import Frames

log = logging.getLogger("mesh.node")
FILE = "poison.json"
KEPT = 64  # messages of each kind, the newest
MOST = 64 * 1024  # bytes of the file
DIGEST = 16  # bytes

PoisonMark = tuple[int, bytes]  # length and digest of a message


class Guilt(Enum):
    """The verdicts on a message."""

    CLEAN = auto()
    SUSPECT = auto()
    GUILTY = auto()


class _Kept(msgspec.Struct):
    """The content of the file. `why`: how the last process failed, until another one has told it."""

    release: str  # another one may have mended it
    guilty: list[tuple[int, bytes]] = []
    suspects: list[tuple[int, bytes]] = []
    why: str = ""


class Poison:
    """The file in one data directory. Nothing that it holds, and no disk, keeps a node from starting."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        kept = _read(self._path)
        self.why = kept.why
        self._guilty: dict[PoisonMark, None] = dict.fromkeys(kept.guilty[-KEPT:])
        self._suspects: dict[PoisonMark, None] = dict.fromkeys(kept.suspects[-KEPT:])
        self._lengths = {length for length, _ in (*self._guilty, *self._suspects)}

    @property
    def is_empty(self) -> bool:
        """As a rule. Then no message need be looked at."""
        return not self._lengths

    def verdict(self, message: Frames) -> Guilt:
        """Only what is as long as a known one is read for that."""
        if sum(map(len, message)) not in self._lengths:
            return Guilt.CLEAN
        mark = _mark(message)
        if mark in self._guilty:
            return Guilt.GUILTY
        return Guilt.SUSPECT if mark in self._suspects else Guilt.CLEAN

    def acquit(self, message: Frames) -> None:
        """Acquit a message that was heard alone, while nothing failed."""
        self._suspects.pop(_mark(message), None)

    def blame(self, messages: Sequence[Frames], is_sure: bool, why: str) -> None:
        """The core has failed over one of these: write it down."""
        known = self._guilty if is_sure else self._suspects
        for message in messages[-KEPT:]:
            known.update(dict.fromkeys(map(_mark, _guises(message))))
        self._write(why)

    def told(self) -> None:
        """People have been told why the last process failed."""
        self.why = ""
        self._write("")

    def _write(self, why: str) -> None:
        kept = _Kept(SOFTWARE, [*self._guilty][-KEPT:], [*self._suspects][-KEPT:], why)
        try:
            write_private(self._path, msgspec.json.encode(kept), durable=True)
        except OSError as error:
            log.error("%s cannot be written: %s", self._path, error.strerror)


def _read(path: Path) -> _Kept:
    """The marks that an earlier process of this release has left, if they are whole."""
    try:
        kept = msgspec.json.decode(read_private(path, MOST, ""), type=_Kept)
    except FileNotFoundError:
        return _Kept("")
    except Exception as error:
        log.warning("%s is passed over: %s", path, error)
        return _Kept("")
    return kept if kept.release == SOFTWARE else _Kept("", why=kept.why)


def _guises(message: Frames) -> list[Frames]:
    """It as it came, and as its client says it to the next process."""
    try:
        return [message, resent(message)]
    except RemoteError:
        return [message]


def _mark(message: Frames) -> PoisonMark:
    digest = blake2b(digest_size=DIGEST)
    for frame in message:
        digest.update(len(frame).to_bytes(8))
        digest.update(frame)
    return sum(map(len, message)), digest.digest()
