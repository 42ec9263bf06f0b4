"""Messages that crashed this node, as digests on disk, so that no later process fails at them again.

A message that was processed alone when the core failed is guilty, and is not processed again. If several
messages were processed, as at the end of a turn, each is a suspect. A suspect is processed alone the next
time, and is guilty if the core fails again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import Enum, auto
from hashlib import blake2b
from pathlib import Path

import msgspec

from mesh.errors import RemoteError
from mesh.kernel.access.authenticator import SOFTWARE
from mesh.local.private import read_private, write_private
from mesh.wire.frames import resent
from mesh.wire.pieces import Frames

log = logging.getLogger("mesh.node")
FILE = "poison.json"
KEPT = 64  # newest messages of each kind
MARKS = 2 * KEPT  # a client's message has two: it may be resent
MOST = 64 * 1024  # bytes of the file
DIGEST = 16  # bytes

PoisonMark = tuple[int, bytes]  # length and digest of a message


class Guilt(Enum):
    """Verdicts on a message."""

    CLEAN = auto()
    SUSPECT = auto()
    GUILTY = auto()


class _Kept(msgspec.Struct):
    """Content of the file.

    `why` is the last failure, until it has been reported.
    """

    release: str  # another release may have fixed the bug
    guilty: list[tuple[int, bytes]] = []
    suspects: list[tuple[int, bytes]] = []
    why: str = ""


class Poison:
    """The file in one data directory with the digests of messages that crashed its node.

    A damaged file or a failing disk never prevents a start.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        kept = _read(self._path)
        self.why = kept.why
        self._guilty: dict[PoisonMark, None] = dict.fromkeys(kept.guilty[-MARKS:])
        self._suspects: dict[PoisonMark, None] = dict.fromkeys(kept.suspects[-MARKS:])
        self._lengths = {length for length, _ in (*self._guilty, *self._suspects)}

    @property
    def is_empty(self) -> bool:
        """Whether the file has no marks, which is usual.

        If so, messages need no check.
        """
        return not self._lengths

    def verdict(self, message: Frames) -> Guilt:
        """Return the verdict on a message.

        Only messages of a known length are hashed.
        """
        if sum(map(len, message)) not in self._lengths:
            return Guilt.CLEAN
        mark = _mark(message)
        if mark in self._guilty:
            return Guilt.GUILTY
        return Guilt.SUSPECT if mark in self._suspects else Guilt.CLEAN

    def acquit(self, message: Frames) -> None:
        """Clear a suspect that was processed alone without a failure.

        The file keeps the mark until it is written the next time.
        """
        self._suspects.pop(_mark(message), None)

    def blame(self, messages: Sequence[Frames], is_sure: bool, why: str) -> None:
        """Record `messages` as guilty if `is_sure`, else as suspects, and `why` as the last failure.

        The file keeps the newest 64 messages of each kind.
        """
        known = self._guilty if is_sure else self._suspects
        for message in messages[-KEPT:]:
            known.update(dict.fromkeys(map(_mark, _guises(message))))
        self._write(why)

    def mark_reported(self) -> None:
        """Mark the last failure as reported."""
        self.why = ""
        self._write("")

    def _write(self, why: str) -> None:
        kept = _Kept(SOFTWARE, [*self._guilty][-MARKS:], [*self._suspects][-MARKS:], why)
        try:
            write_private(self._path, msgspec.json.encode(kept), durable=True)
        except OSError as error:
            log.error("%s cannot be written: %s", self._path, error.strerror)


def _read(path: Path) -> _Kept:
    """Return the marks of an earlier process of this release; none if the file is damaged or missing.

    Of an earlier process of another release, only the last failure is kept.
    """
    try:
        kept = msgspec.json.decode(read_private(path, MOST, ""), type=_Kept)
    except FileNotFoundError:
        return _Kept("")
    except Exception as error:
        log.warning("%s is ignored: %s", path, error)
        return _Kept("")
    return kept if kept.release == SOFTWARE else _Kept("", why=kept.why)


def _guises(message: Frames) -> list[Frames]:
    """Return the message as received, and as its client would resend it to the next process."""
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
