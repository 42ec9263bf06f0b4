"""The command that commits a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from mesh.discovery.state import Natural
from mesh.errors import RemoteError
from mesh.flow.outstanding_deliveries import ranges_of
from mesh.names import LONGEST_QUEUE
from mesh.wire.calls.prepared import XID
from mesh.wire.command import Checks, Command, command
from mesh.wire.counts import check_ranges
from mesh.wire.envelope import Envelope
from mesh.wire.header import U32, FromOne
from mesh.wire.limits import FRAME, TRANSACTION_ENVELOPES, TRANSACTION_OPERATIONS, TRANSACTIONS

ACK, NACK = 0, 1
COMMIT, PREPARE = "commit", "prepare"  # phases


class Settled(msgspec.Struct, frozen=True, array_like=True):
    """Deliveries of a queue that a transaction settles.

    Attributes:
        queue: Name of the queue.
        boot: Boot of the node that delivered them.
        what: 0: ack. 1: nack.
        delay: Of a nack: ms until the redelivery.
        transient: Whether the messages are not persistent.
        stream: Stream id of the messages.
        numbers: Their sequence numbers: first, last, first, last, …
    """

    queue: Annotated[str, Meta(max_length=LONGEST_QUEUE)]
    boot: Natural
    what: Annotated[int, Meta(ge=ACK, le=NACK)]
    delay: U32
    transient: bool
    stream: Annotated[bytes, Meta(min_length=16, max_length=16)]
    numbers: tuple[FromOne, ...]


def _check_settles(settles: Sequence[Settled]) -> None:
    """Raise ValueError for invalid ranges, or too many messages."""
    most = 0
    for each in settles:
        check_ranges(each.numbers)
        most += sum(b - a + 1 for a, b in ranges_of(each.numbers))
        if not each.numbers or most > TRANSACTION_OPERATIONS:
            raise ValueError(f"a transaction settles {most} messages, or a settlement is empty")


@command
class Commit(Command, frozen=True, tag=54):
    """A transaction of a client: the node accepts all of it, or refuses all of it.

    A frame with a list of all headers follows, then all bodies in frames of 1 MiB. REPLY has `[state,
    matched, text]` for each envelope, or the index of the refused settlement or envelope.

    Attributes:
        request: Number of the request.
        count: Number of the transaction: 1, 2, 3, … in its session.
        low: All transactions of the session below this number are answered.
        phase: `"commit"`; `"prepare"`: the decision follows in a CALL.
        settles: Deliveries that it settles.
        sizes: Bytes of the body of each envelope.
        name: For `"prepare"`: the client's name for the transaction.
    """

    word: ClassVar[str] = TRANSACTIONS
    limit: ClassVar[int] = FRAME
    checks: ClassVar[Checks] = (("settles", _check_settles),)
    is_of_client: ClassVar[bool] = True

    request: Natural
    count: FromOne
    low: FromOne
    phase: str = COMMIT
    settles: tuple[Settled, ...] = ()
    sizes: Annotated[tuple[U32, ...], Meta(max_length=TRANSACTION_ENVELOPES)] = ()
    name: Annotated[str, Meta(max_length=XID)] = ""

    def packed_sizes(self) -> Sequence[int]:
        return self.sizes

    def check_envelopes(self, envelopes: Sequence[Envelope]) -> None:
        if len(envelopes) != len(self.sizes):
            what = f"{len(envelopes)} envelopes follow COMMIT, which announces {len(self.sizes)}"
            raise RemoteError(what, code="MALFORMED")
        settled = sum(b - a + 1 for each in self.settles for a, b in ranges_of(each.numbers))
        if settled + sum(envelope.count for envelope in envelopes) > TRANSACTION_OPERATIONS:
            what = f"a transaction has more than {TRANSACTION_OPERATIONS:,} settlements and messages"
            raise RemoteError(what, code="MALFORMED")
