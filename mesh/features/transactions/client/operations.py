"""The operations of a transaction, gathered until it is committed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from mesh.client.core.accumulator import PutTerms
from mesh.client.core.builder import Builder
from mesh.client.core.delivered_envelope import DeliveredEnvelope, as_ranges
from mesh.errors import BadArgument, LocalError, MessageTooLarge
from mesh.features.transactions.client.core.open_commit import DeliveryHolder, HeldDelivery
from mesh.features.transactions.wire import Settled
from mesh.names import PUTS
from mesh.wire.envelope import Envelope
from mesh.wire.limits import MIB, TRANSACTION_BYTES, TRANSACTION_ENVELOPES, TRANSACTION_OPERATIONS

HEADER = 256  # bytes of an envelope's header, besides its texts, at most
MESSAGE = 12  # bytes of a header for each message, at most


class Consumption(Protocol):
    """The consumer of a delivery."""

    address: str

    @property
    def settling(self) -> DeliveryHolder: ...

    def boot_of(self, delivered: DeliveredEnvelope) -> int:
        """Return the boot of the node when it delivered the messages."""

    def check_settleable(self, delivered: DeliveredEnvelope, place: int) -> None:
        """Raise LocalError SETTLED or LeaseOver if a message cannot be settled."""


class SettledJob(NamedTuple):
    """A delivery that the transaction settles; `operation` is its index among all operations."""

    taking: Consumption
    delivered: DeliveredEnvelope
    place: int
    what: int
    delay: int  # ms
    operation: int


class PlannedMessage(NamedTuple):
    """A message: the index of its envelope, and its index there."""

    envelope: int
    place: int


class Operations:
    """The settlements and messages of one transaction."""

    def __init__(self, most_content: int, most_bytes: int = TRANSACTION_BYTES) -> None:
        self._most, self._most_bytes = most_content, most_bytes
        self.count = 0
        self.jobs: list[SettledJob] = []
        self._settled: set[tuple[int, int]] = set()  # id of the delivered envelope, place
        self.messages: list[PlannedMessage] = []
        self._builders: list[tuple[Builder, int]] = []  # with the operation that began each
        self._last: dict[str, int] = {}  # index of the last builder, by domain
        self._bytes = self._header_bytes = 0

    def add_job(self, taking: Consumption, of: tuple[DeliveredEnvelope, int], what: int, delay: int) -> None:
        """Add the settlement of a delivery. Raises: LocalError SETTLED or TWO_NODES, LeaseOver."""
        delivered, place = of
        taking.check_settleable(delivered, place)
        if (id(delivered), place) in self._settled:
            text = f"The transaction settles this message of {taking.address} already."
            raise LocalError(text, hint="Settle it once.", code="SETTLED")
        if self.jobs and self.jobs[0].delivered.node != delivered.node:
            text = "The transaction settles messages that two nodes have delivered."
            raise LocalError(text, hint="Use a transaction for each node.", code="TWO_NODES")
        self._count_one()
        self._settled.add((id(delivered), place))
        self.jobs.append(SettledJob(taking, delivered, place, what, delay, self.count - 1))

    def add_message(
        self, domain: str, flags: int, to: str, put: PutTerms, xml: str,
        key: str, content: bytes, props: bytes, expires: int,
    ) -> None:  # fmt: skip
        """Add a message, checked before, to an envelope of its kind. Raises: MessageTooLarge."""
        at = self._last.get(domain, -1)
        builder, is_new = self._builders[at][0] if at >= 0 else None, False
        kind = (flags, to, put, xml)
        if builder is None or builder.full or (builder.flags, builder.to, builder.put, builder.xml) != kind:
            builder, is_new = Builder(domain, flags, to, 1, self._most), True
            builder.put, builder.xml = put, xml
        header = MESSAGE + 4 * len(key) + is_new * (HEADER + 4 * (2 * len(to) + len(domain) + len(xml)))
        self._check_size(len(content) + len(props), header, is_new)
        self._count_one()
        if is_new:
            self._builders.append((builder, self.count - 1))
            at = self._last[domain] = len(self._builders) - 1
        builder.add(key, content, props, expires)
        self.messages.append(PlannedMessage(at, len(builder.slices) - 1))

    def _check_size(self, size: int, header: int, is_new: bool) -> None:
        if self._bytes + size > self._most_bytes:
            what = f"The messages of the transaction have more than {self._most_bytes:,} bytes."
            hint = "Use several transactions, or raise limits.transaction_bytes of the node."
            raise MessageTooLarge(what, hint=hint)
        if len(self._builders) + is_new > TRANSACTION_ENVELOPES or self._header_bytes + header > MIB:
            what = (
                f"The transaction needs more than {TRANSACTION_ENVELOPES:,} envelopes, or 1 MiB of headers."
            )
            raise MessageTooLarge(what, hint="Use several transactions.")
        self._bytes += size
        self._header_bytes += header

    def _count_one(self) -> None:
        if self.count >= TRANSACTION_OPERATIONS:
            what = f"The transaction has {TRANSACTION_OPERATIONS:,} operations, which is the limit."
            raise MessageTooLarge(what, hint="Use several transactions.")
        self.count += 1

    # --- at the commit ------------------------------------------------------------------------------------

    def check_jobs(self, node: bytes) -> None:
        """Check that all deliveries can still be settled at `node`. Raises: LocalError, LeaseOver."""
        for job in self.jobs:
            job.taking.check_settleable(job.delivered, job.place)
            if job.delivered.node != node:
                text = (
                    "The session has moved since the message was delivered, so no transaction can settle it."
                )
                raise LocalError(text, hint="Ack it outside of the transaction.", code="DELIVERED_ELSEWHERE")

    def held(self) -> list[HeldDelivery]:
        return [(job.taking.settling, (job.delivered, (job.place,))) for job in self.jobs]

    def settles(self) -> tuple[list[Settled], list[int]]:
        """Return the settlements as COMMIT has them, each with the index of its first operation."""
        found: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
        for job in self.jobs:
            e, delivered = job.delivered.batch._envelope, job.delivered
            queue, boot = job.taking.address.removeprefix(PUTS), job.taking.boot_of(delivered)
            kind = queue, boot, job.what, job.delay, not e.persistent, delivered.stream
            found.setdefault(kind, []).append((delivered.numbers()[job.place], job.operation))
        settles, first = list[Settled](), list[int]()
        for kind, numbers in found.items():
            # Two messages of one number, such as of two domains, are named twice.
            while numbers:
                some = dict(reversed(numbers))
                settles.append(Settled(*kind, as_ranges(some)))
                first.append(min(some.values()))
                left = list(numbers)
                for each in some.items():
                    left.remove(each)
                numbers = left
        return settles, first

    def envelopes(self, stream: bytes) -> Iterator[Envelope]:
        """Yield the envelopes, without numbers."""
        return (builder.seal(stream) for builder, _ in self._builders)

    def operation_of(self, index: int, settled: list[int]) -> int:
        """Return the operation to which an index in a refusal belongs; -1: to none."""
        firsts = [*settled, *(operation for _, operation in self._builders)]
        return firsts[index] if 0 <= index < len(firsts) else -1


def delivery_of(job: object) -> tuple[Consumption, tuple[DeliveredEnvelope, int]]:
    """Return the consumer and the place of a delivery. Raises: BadArgument for anything else."""
    hands, delivered = getattr(job, "_hands", None), getattr(job, "_queued", None)
    if hands is None or not isinstance(delivered, DeliveredEnvelope) or not hasattr(job, "_place"):
        what = f"A transaction settles deliveries of queues, not a value of type {type(job).__name__}."
        raise BadArgument(what, hint="Pass what a consumer of a queue returned.")
    return hands.taking, (delivered, job._place)
