"""Bookkeeping of pieces that move between the local queues of two nodes."""

# Law 1: each piece gets a number that is used once and is on disk before the piece is sent.
# Law 2: a piece is answered once on one connection: accepted or refused. Without an answer it ends only when
#   its queue is removed or its target is given up.
# Law 3: the target remembers the number of an accepted piece as long as the source may resend it, which is
#   until the source has stored the outcome.

from __future__ import annotations

from enum import Enum
from typing import Annotated, Generic, TypeVar

from msgspec import Meta, Struct

from mesh.streams.ranges import Ranges
from mesh.wire.codec import pack, reader
from mesh.wire.limits import LARGEST_NUMBER

T = TypeVar("T")  # a piece: the messages under one number
BOOT = 1 << 40  # numbers that one process may use
NEVER = LARGEST_NUMBER  # above every number
MOST_RANGES = 10_000  # of accepted numbers: more than can be open


def first_of_boot(boot: int) -> int:
    """Return the first number that the node may use in the boot `boot`."""
    return boot * BOOT + 1


class Outgoing(Generic[T]):
    """Pieces that move from here to one node, by number, each open until its outcome is on disk."""

    def __init__(self, first: int) -> None:
        self._next = first
        self.going: dict[int, T] = {}  # not answered
        self._ending: set[int] = set()  # answered, outcome not yet on disk
        self._fresh: set[int] = set()  # never sent

    def __bool__(self) -> bool:
        return bool(self.going or self._ending)

    @property
    def low(self) -> int:
        """The lowest open number, or else the next number; the outcomes of all lower ones are on disk."""
        return min((*self.going, *self._ending), default=self._next)

    @property
    def next_number(self) -> int:
        return self._next

    def assign_number(self, piece: T) -> int:
        """Assign and return the number of a piece, which may be sent after its number is on disk."""
        number, self._next = self._next, self._next + 1
        self.going[number] = piece
        self._fresh.add(number)
        return number

    def restored(self, number: int, piece: T) -> None:
        self.going[number] = piece

    def leaves(self, number: int) -> bool:
        """Record that a piece is sent, and return whether it may have been sent before."""
        is_again = number not in self._fresh
        self._fresh.discard(number)
        return is_again

    def take_answered(self, number: int) -> T | None:
        """Remove and return an answered piece, or return `None` if it is not moving."""
        piece = self.going.pop(number, None)
        if piece is not None:
            self._ending.add(number)
        return piece

    def close_number(self, number: int) -> None:
        self._ending.discard(number)


class PieceVerdict(Enum):
    """The classification of a piece that has arrived."""

    NEW = "new"
    PERHAPS = "perhaps"  # possibly a duplicate: delivered as redelivered, or refused
    COMING = "coming"  # a duplicate; not yet committed
    TAKEN = "taken"  # a duplicate
    REUSED = "reused"  # a reused number: the source's store went back


class TransferRow(Struct, frozen=True, array_like=True):
    """The stored state of the pieces from one source."""

    low: Annotated[int, Meta(ge=1, le=LARGEST_NUMBER)]
    taken: bytes  # ranges of numbers, from `low` on
    known_from: Annotated[int, Meta(ge=1, le=NEVER)] = NEVER


_read = reader(TransferRow, 1 << 20)


class IncomingPieces:
    """The numbers of the pieces that were accepted from the local queue of another node."""

    def __init__(self) -> None:
        self._low = 1
        self._taken = Ranges()
        self._coming: set[int] = set()
        # All accepted numbers from this one on are known: it is the lowest number that arrived in its first
        # transmission. Earlier pieces may have been accepted before the disk of this node was lost.
        self._known_from = NEVER

    def __bool__(self) -> bool:
        return bool(self._taken or self._coming)

    @property
    def is_long(self) -> bool:
        """Whether there are more ranges than a source that keeps to the limits can cause."""
        return len(self._taken) >= MOST_RANGES

    def classify(self, number: int, low: int, is_again: bool) -> PieceVerdict:
        """Classify a piece, and forget the numbers below `low`, the first open number at its source.

        `is_again` means that the piece may have been sent before.
        """
        self.drop_below(low)
        if not is_again:
            self._known_from = min(self._known_from, number)
        if number in self._coming:
            return PieceVerdict.COMING
        if number in self._taken:
            return PieceVerdict.TAKEN if is_again else PieceVerdict.REUSED
        if number < self._low:
            return PieceVerdict.PERHAPS if is_again else PieceVerdict.REUSED
        return PieceVerdict.PERHAPS if number < self._known_from else PieceVerdict.NEW

    def accept_number(self, number: int) -> None:
        """Accept a number, which becomes final when it is on disk."""
        self._taken.add(number, number)
        self._coming.add(number)

    def written(self, number: int) -> None:
        """Record that an accepted number is on disk, or has ended here."""
        self._coming.discard(number)

    def withdraw_number(self, number: int) -> None:
        """Withdraw a number that could not be stored because the disk is full."""
        self._coming.discard(number)
        self._taken.remove(number, number)

    def drop_below(self, low: int) -> None:
        """Forget the numbers below `low`, which have ended at the source."""
        if low > self._low:
            self._taken.drop_below(low)
            self._low = low

    def pack(self) -> bytes:
        return pack([self._low, self._taken.pack(), self._known_from])

    @classmethod
    def unpack(cls, data: bytes, is_sure: bool = True) -> IncomingPieces:
        """Return the stored state. Raises: RemoteError if it is invalid.

        Without `is_sure`, more numbers may have been accepted than are stored.
        """
        row = _read(data)
        made = cls()
        made._low, made._taken = row.low, Ranges.unpack(row.taken)
        made._known_from = row.known_from if is_sure else NEVER
        return made
