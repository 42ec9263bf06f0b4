"""The calls of a simulated client, its subscriptions, and the messages that they received."""

from __future__ import annotations

from dataclasses import dataclass, field

from mesh.client.batch import Batch
from mesh.client.core.intake import Intake
from mesh.streams.seen import SeenMessages
from mesh.wire import commands as c
from mesh.wire.envelope import ERASED, INITIAL, PROVISIONAL, RETRACTED, Envelope


@dataclass(frozen=True)
class Got:
    """A message as a subscriber received it."""

    id: tuple[bytes, str, int]  # stream, domain, number
    key: str
    content: bytes
    sender: str
    route: tuple[str, ...]
    is_persistent: bool
    is_initial: bool
    gap: int  # messages dropped just before
    is_erased: bool = False
    strata: tuple[int, ...] = ()
    is_provisional: bool = False


@dataclass(eq=False)
class Subscription:
    """A subscription and the messages that it received.

    `rate` is the number of items consumed per second; None means immediately, and 0 none.
    """

    intake: Intake
    rate: float | None
    got: list[Got] = field(default_factory=list)
    told: int = 0  # part of `dropped` that is in the history

    @property
    def number(self) -> int:
        return self.intake.number

    @property
    def query(self) -> c.Query:
        return self.intake.query

    @property
    def is_confirmed(self) -> bool:
        return self.intake.confirmed

    @property
    def dropped(self) -> int:
        return self.intake.dropped

    @property
    def ended(self) -> str:
        """The error code with which it ended, or ""."""
        return "" if self.intake.error is None else self.intake.error.code

    @property
    def contents(self) -> list[bytes]:
        return [message.content for message in self.got]

    @property
    def waiting(self) -> list[Batch]:
        """The batches that have arrived and are not consumed."""
        return [batch for batch in self.intake._items if batch is not None]

    def forget(self) -> None:
        self.intake._items.clear()
        self.intake._seen = SeenMessages()


@dataclass
class Call:
    """A call, and its reply once it has arrived."""

    request: int
    command: c.Command
    reply: c.Reply | None = None
    found: list[Envelope] = field(default_factory=list)


def got(e: Envelope, i: int, gap: int) -> Got:
    """Return the message at index `i` of an envelope."""
    return Got(
        (e.stream, e.domain, e.number(i)),
        e.keys[e.row(i)],
        e.message(i)[1],
        e.sender,
        tuple(hop.node for hop in e.route),
        e.persistent,
        bool(e.flags & INITIAL),
        gap,
        bool(e.flags & ERASED),
        tuple(hop.stratum for hop in e.route),
        bool(e.flags & PROVISIONAL),
    )


def all_of(batch: Batch) -> list[Got]:
    """Return the messages of a batch, or none if they were retracted.

    Only the first message has the gap.
    """
    e, indices = batch._envelope, batch._indices
    if e.flags & RETRACTED:
        return []
    every = range(e.count) if indices is None else indices
    return [got(e, i, 0 if n else batch.gap) for n, i in enumerate(every)]
