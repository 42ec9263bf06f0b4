"""The pieces of one queue that are in transit to one node."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from msgspec import Struct

from mesh.features.queues.model.envelopes.counts import Runs
from mesh.features.queues.model.envelopes.envelope_row import MOST_MOVES
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.moves.transfer import Outgoing
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.wire import Transferred
from mesh.streams.ranges import Ranges
from mesh.wire.envelope import RESENT, Envelope
from mesh.wire.limits import TRANSFERS_BYTES, TRANSFERS_OPEN


class TransferOutcome(Enum):
    """The outcome of a piece at its target."""

    TAKEN = "taken"
    REFUSED = "refused"  # and delivered to no consumer there
    UNSURE = "unsure"  # refused, perhaps delivered to a consumer there


class LeavingPiece(Struct, eq=False):
    """Messages of one envelope that move together.

    `told` is called with the counts of accepted and refused messages.
    """

    queued: QueuedEnvelope
    runs: Runs
    told: Callable[[int, int], None] | None = None
    boot: int = 0  # of the target when first sent; 0: unsent

    def leaves(self, boot: int) -> Envelope:
        """Return the envelope to send to a target whose current boot is `boot`.

        A volatile piece that was first sent to an earlier boot of the target may have been delivered there
        and lost, so its messages are marked as possibly redelivered.
        """
        if not self.queued.stored.position and self.boot not in (0, boot):
            self.queued.may_have_been_given(self.runs)
        self.boot = self.boot or boot
        indices = self.queued.indices(self.runs)
        envelope = self.queued.envelope.without(RESENT)  # delivery counts replace the flag
        return envelope if indices is None else envelope.cut(indices)


class QueueTransfer:
    """The open pieces of one queue for one target, until all have ended.

    `first` is the number of the first new piece; restored pieces have lower numbers.
    """

    def __init__(self, queue: QueueSink, target: bytes, first: int) -> None:
        self.queue, self.target = queue, target
        self.out = Outgoing[LeavingPiece](first)
        self.unwritten: set[int] = set()  # pieces whose move is not on disk
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether the limit of open pieces or bytes is reached."""
        return len(self.out.going) >= TRANSFERS_OPEN or self._bytes >= TRANSFERS_BYTES

    def begin_piece(self, piece: LeavingPiece) -> int:
        number = self.out.assign_number(piece)
        self.unwritten.add(number)
        self._bytes += piece.queued.size
        return number

    def restored(self, number: int, piece: LeavingPiece) -> None:
        self.out.restored(number, piece)
        self._bytes += piece.queued.size

    def answerable(self) -> list[int]:
        """Return the numbers of the unanswered pieces that may have been sent, in order."""
        return sorted(number for number in self.out.going if number not in self.unwritten)

    def entry(self, number: int) -> tuple[int, bool, int, bytes]:
        """Record that a piece is sent, and return its number, whether it is resent, its moves and counts."""
        piece = self.out.going[number]
        queued = piece.queued
        return number, self.out.leaves(number), min(MOST_MOVES, queued.moves + 1), queued.exact(piece.runs)

    def outcomes_of(self, answer: Transferred) -> dict[int, TransferOutcome]:
        """Return the outcomes of open pieces in an answer; other numbers are ignored."""
        found: dict[int, TransferOutcome] = {}
        open_ones = self.answerable()
        for numbers, outcome in (
            (answer.unsure, TransferOutcome.UNSURE),
            (answer.refused, TransferOutcome.REFUSED),
            (answer.taken, TransferOutcome.TAKEN),
        ):
            ranges = Ranges()
            for first, last in zip(numbers[::2], numbers[1::2], strict=True):
                ranges.add(first, last)
            found.update((number, outcome) for number in open_ones if ranges and number in ranges)
        return found

    def take_answered(self, number: int) -> LeavingPiece | None:
        piece = self.out.take_answered(number)
        if piece is not None:
            self._bytes -= piece.queued.size
        return piece
