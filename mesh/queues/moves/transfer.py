"""What is on its way from a queue's part at one node to that at another, and what has come from there?"""

# Law 1: what moves is numbered. A number is given once, for one piece, and written down before it leaves.
# Law 2: on one connection a piece is sent once and answered once: taken or refused. Nothing else ends it, but
#        the word of somebody who knows that its target is gone for good.
# Law 3: what was taken is known by its number as long as its source may send it again: until it is on disk
#        there what became of it.

from __future__ import annotations

from enum import Enum
from typing import Annotated, Generic, TypeVar

from msgspec import Meta, Struct

from mesh.streams.ranges import Ranges
from mesh.wire.codec import pack, reader
from mesh.wire.limits import LARGEST_NUMBER

T = TypeVar("T")  # a piece: what has one number
BOOT = 1 << 40  # numbers that a process may give
NEVER = LARGEST_NUMBER  # no number is so high
MOST_RANGES = 10_000  # of numbers that were taken: more than can be open at once


def first_of_boot(boot: int) -> int:
    """The first number that a process of this node may give."""
    return boot * BOOT + 1


class Outgoing(Generic[T]):
    """Pieces that move from here to one node. Each is open from its number until its end is on disk."""

    def __init__(self, first: int) -> None:
        self._next = first
        self.going: dict[int, T] = {}  # not answered
        self._ending: set[int] = set()  # answered, and that is not on disk
        self._fresh: set[int] = set()  # those that have never left

    def __bool__(self) -> bool:
        return bool(self.going or self._ending)

    @property
    def low(self) -> int:
        """The first number that is open; all before are known to be over, by the disk too."""
        return min((*self.going, *self._ending), default=self._next)

    @property
    def next(self) -> int:
        """The number that comes next."""
        return self._next

    def begin(self, piece: T) -> int:
        """It moves, under this number, when that is on disk."""
        number, self._next = self._next, self._next + 1
        self.going[number] = piece
        self._fresh.add(number)
        return number

    def restored(self, number: int, piece: T) -> None:
        """It was on its way before the start."""
        self.going[number] = piece

    def leaves(self, number: int) -> bool:
        """It is sent now; may that have been so before?"""
        is_again = number not in self._fresh
        self._fresh.discard(number)
        return is_again

    def answered(self, number: int) -> T | None:
        """It is known what became of it, and that goes to the disk; None: it is not on its way."""
        piece = self.going.pop(number, None)
        if piece is not None:
            self._ending.add(number)
        return piece

    def ended(self, number: int) -> None:
        """That is on disk."""
        self._ending.discard(number)


class PieceVerdict(Enum):
    """What a piece is that has come."""

    NEW = "new"
    PERHAPS = (
        "perhaps"  # it may have been here before: whoever gets it is told so, and who hears it is refused
    )
    COMING = "coming"  # it was here before, and will be known for good with a commit
    TAKEN = "taken"  # it was here before
    REUSED = "reused"  # its number was another's: the source's store has gone back


class TransferRow(Struct, frozen=True, array_like=True):
    """What is stored of it."""

    low: Annotated[int, Meta(ge=1, le=LARGEST_NUMBER)]
    taken: bytes  # ranges of numbers from low on
    known_from: Annotated[int, Meta(ge=1, le=NEVER)] = NEVER


_read = reader(TransferRow, 1 << 20)


class IncomingPieces:
    """Pieces that have come here from one part at another node: the numbers of those that were taken."""

    def __init__(self) -> None:
        self._low = 1
        self._taken = Ranges()
        self._coming: set[int] = set()
        # From this number on all that was ever taken is known. It is the first that came here before it could
        # come anywhere else: what was begun before it may have been taken by one whose disk is gone.
        self._known_from = NEVER

    def __bool__(self) -> bool:
        """Is anything known?"""
        return bool(self._taken or self._coming)

    @property
    def is_long(self) -> bool:
        """Is so much of it in holes that nobody can have sent that who keeps to the bounds?"""
        return len(self._taken) >= MOST_RANGES

    def judge(self, number: int, low: int, is_again: bool) -> PieceVerdict:
        """What is that piece? `low`: the first that is open at its source. `is_again`: it may have left
        before.
        """
        self.forget(low)
        if not is_again:
            self._known_from = min(self._known_from, number)
        if number in self._coming:
            return PieceVerdict.COMING
        if number in self._taken:
            return PieceVerdict.TAKEN if is_again else PieceVerdict.REUSED
        if number < self._low:
            return PieceVerdict.PERHAPS if is_again else PieceVerdict.REUSED
        return PieceVerdict.PERHAPS if number < self._known_from else PieceVerdict.NEW

    def take(self, number: int) -> None:
        """It is here as soon as that is on disk."""
        self._taken.add(number, number)
        self._coming.add(number)

    def written(self, number: int) -> None:
        """It is on disk, or over here."""
        self._coming.discard(number)

    def failed(self, number: int) -> None:
        """It is not here after all: there is no room on the disk."""
        self._coming.discard(number)
        self._taken.remove(number, number)

    def forget(self, low: int) -> None:
        """All before this is over at its source."""
        if low > self._low:
            self._taken.drop_below(low)
            self._low = low

    def pack(self) -> bytes:
        """As it is stored."""
        return pack([self._low, self._taken.pack(), self._known_from])

    @classmethod
    def unpack(cls, data: bytes, is_sure: bool = True) -> IncomingPieces:
        """What was stored; unless `is_sure`, more was known before. RemoteError for what is no such thing."""
        row = _read(data)
        made = cls()
        made._low, made._taken = row.low, Ranges.unpack(row.taken)
        made._known_from = row.known_from if is_sure else NEVER
        return made
