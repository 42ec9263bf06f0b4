"""What of one queue is on its way to one node."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from msgspec import Struct

from mesh.core.queues.keeping.here import QueueHere
from mesh.queues.lots.counts import Runs
from mesh.queues.lots.lot import Lot
from mesh.queues.moves.transfer import Outgoing
from mesh.wire.envelope import RESENT, Envelope
from mesh.wire.limits import TRANSFERS_BYTES, TRANSFERS_OPEN


class PieceFate(Enum):
    """The fate of a piece at the other node."""

    TAKEN = "taken"
    REFUSED = "refused"  # and nobody has had it there
    UNSURE = "unsure"  # refused, and perhaps somebody has


class LeavingPiece(Struct, eq=False):
    """Messages of one lot that move together. `told` hears how many were taken, and refused."""

    lot: Lot
    runs: Runs
    told: Callable[[int, int], None] | None = None
    boot: int = 0  # of the node to which they were sent first

    def leaves(self, boot: int) -> Envelope:
        """It is sent to a node in that boot. What is on no disk it may have had in an earlier one, given out,
        and lost.
        """
        if not self.lot.parcel.position and self.boot not in (0, boot):
            self.lot.may_have_been_given(self.runs)
        self.boot = self.boot or boot
        indices = self.lot.indices(self.runs)
        envelope = self.lot.envelope.without(RESENT)  # which its tries say
        return envelope if indices is None else envelope.cut(indices)


class QueueTransfer:
    """Pieces of one queue on their way to one node."""

    def __init__(self, queue: QueueHere, target: bytes, first: int) -> None:
        self.queue, self.target = queue, target
        self.out = Outgoing[LeavingPiece](first)
        self.unwritten: set[int] = set()  # it is not on disk yet that these leave
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Is as much on it as may be at once?"""
        return len(self.out.going) >= TRANSFERS_OPEN or self._bytes >= TRANSFERS_BYTES

    def begin(self, piece: LeavingPiece) -> int:
        number = self.out.begin(piece)
        self.unwritten.add(number)
        self._bytes += piece.lot.size
        return number

    def restored(self, number: int, piece: LeavingPiece) -> None:
        self.out.restored(number, piece)
        self._bytes += piece.lot.size

    def answerable(self) -> list[int]:
        """Those that may have been sent."""
        return sorted(number for number in self.out.going if number not in self.unwritten)

    def answered(self, number: int) -> LeavingPiece | None:
        piece = self.out.answered(number)
        if piece is not None:
            self._bytes -= piece.lot.size
        return piece
