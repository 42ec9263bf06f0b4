"""Commands that move messages between the parts of a queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from msgspec import Meta

from mesh.discovery.state import Natural
from mesh.errors import RemoteError
from mesh.names import LONGEST_QUEUE
from mesh.wire.command import Checks, Command, command
from mesh.wire.counts import check_moving, check_ranges
from mesh.wire.envelope import Envelope
from mesh.wire.limits import (
    ENVELOPE_MESSAGES,
    ENVELOPES_A_MESSAGE,
    FRAME,
    LARGEST_NUMBER,
    TRANSFERS,
    TRANSFERS_OPEN,
)

Number = Annotated[int, Meta(ge=1, le=LARGEST_NUMBER)]


Numbers = Annotated[tuple[Number, ...], Meta(max_length=2 * TRANSFERS_OPEN)]  # first, last, first, last, ...


# Number of the transfer of an envelope, whether it may have been sent before, its moves including this one,
# and a u16 column with the failed deliveries of each message, plus 256 if one more delivery may have
# happened. An empty column means all 0.
MovingEntry = tuple[
    Number, bool, Annotated[int, Meta(ge=0, le=255)], Annotated[bytes, Meta(max_length=2 * ENVELOPE_MESSAGES)]
]


@command
class Transfer(Command, frozen=True, tag=52):
    """Messages of a queue that move to the receiver.

    An unanswered transfer is sent again on each new connection, and for a queue in memory also when a drain
    of the sender begins or ends. Both ends store the number of a transfer with its messages. The numbers of a
    node are above 2⁴⁰ times its boot.

    Attributes:
        queue: Name of the queue.
        low: Lowest number of a transfer whose outcome is not yet on disk at the sender.
        frames: As in PUBLISH.
        entries: For each envelope: number of the transfer, whether it may have been sent before, how often it
            has moved, including this move, and for each message a u16 with its failed deliveries (plus 256 if
            one more delivery may have happened). An empty column: all 0.
        parting: Whether the sender, which is being drained, no longer keeps these messages.
    """

    word: ClassVar[str] = TRANSFERS
    limit: ClassVar[int] = FRAME
    checks: ClassVar[Checks] = (("entries", check_moving),)

    queue: Annotated[str, Meta(max_length=LONGEST_QUEUE)]
    low: Number
    frames: tuple[Natural, ...]
    entries: Annotated[tuple[MovingEntry, ...], Meta(min_length=1, max_length=ENVELOPES_A_MESSAGE)]
    parting: bool = False

    def frame_counts(self) -> Sequence[int]:
        return self.frames

    def check_envelopes(self, envelopes: Sequence[Envelope]) -> None:
        told = [len(tries) // 2 for *_, tries in self.entries]
        counts = [envelope.count for envelope in envelopes]
        if len(told) != len(counts) or any(n and n != count for n, count in zip(told, counts, strict=True)):
            raise RemoteError("the delivery counts do not match the moved messages", code="MALFORMED")


@command
class Transferred(Command, frozen=True, tag=53):
    """Outcome of TRANSFER, as ranges of numbers (first, last, first, last, …).

    Attributes:
        queue: Name of the queue.
        taken: Transfers that the target has accepted.
        refused: Transfers that stay at the source, and that the target has not delivered to a consumer.
        unsure: Transfers that stay at the source, but that the target may have delivered to a consumer.
    """

    word: ClassVar[str] = TRANSFERS
    checks: ClassVar[Checks] = (("taken", check_ranges), ("refused", check_ranges), ("unsure", check_ranges))

    queue: Annotated[str, Meta(max_length=LONGEST_QUEUE)]
    taken: Numbers = ()
    refused: Numbers = ()
    unsure: Numbers = ()
