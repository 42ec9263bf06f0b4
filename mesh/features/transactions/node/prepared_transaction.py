"""A prepared transaction, as its node keeps it, and the limits of all of them."""

# Law: at most MOST transactions are prepared, MOST_OF_USER by a user, with MOST_BYTES in all.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from mesh.errors import LocalError
from mesh.features.transactions.model.prepared import Name, PreparedRow
from mesh.kernel.context.seams import JointSettlements
from mesh.kernel.delivery.joint_acceptance import PlannedEnvelope
from mesh.kernel.forwarding.joint_forwards import PlannedForwards
from mesh.names import PUTS
from mesh.routing.branches import TransactionKey
from mesh.snapshots.waiting import Waiting
from mesh.wire.envelope import Envelope

WAITING = "transaction/prepared"  # name in the history
MOST, MOST_OF_USER, MOST_BYTES = 1_000, 100, 64 * 2**20

Decided = Callable[[str | LocalError], None]


class Prepared(Struct, eq=False):
    """A prepared transaction, until its decision has taken effect."""

    key: TransactionKey  # of its COMMIT
    row: PreparedRow
    places: list[bytes]  # keys of its rows
    settlements: JointSettlements | None
    reserved: list[PlannedEnvelope] = field(default_factory=list)
    forwards: PlannedForwards | None = None  # with reserved room
    deciders: list[Decided] = field(default_factory=list)  # a decision is under way, and they wait for it
    is_warned: bool = False
    messages: int = 0  # of its envelopes

    def __post_init__(self) -> None:
        self.messages = sum(envelope.count for envelope in self.row.decoded())

    @property
    def name(self) -> Name:
        return self.row.user, self.row.name

    @property
    def token(self) -> bytes:
        return self.key[0] + self.key[1].to_bytes(8)

    @property
    def queues(self) -> list[str]:
        puts = [e.to.removeprefix(PUTS) for e in self.row.decoded() if e.to.startswith(PUTS)]
        return list(dict.fromkeys([*(each.queue for each in self.row.settles), *puts]))


def check_room(new: PreparedRow, others: Iterable[PreparedRow], outcome: str) -> None:
    """Raise LocalError NAME_TAKEN or TOO_MANY_PREPARED; `outcome` is a decided one of that name, or ""."""
    rows = list(others)
    of_user = [row for row in rows if row.user == new.user]
    if outcome or any(row.name == new.name for row in of_user):
        what = f"The name {new.name!r} belongs to another prepared transaction."
        raise LocalError(what, hint="Use a new name for each transaction.", code="NAME_TAKEN")
    size = new.size + sum(row.size for row in rows)
    if len(rows) >= MOST or len(of_user) >= MOST_OF_USER or size > MOST_BYTES:
        what = f"{len(rows):,} transactions are prepared at this node, {len(of_user):,} of them by this user."
        hint = f"Decide some of them: `mesh tx ls`. The limits are {MOST:,}, {MOST_OF_USER} and 64 MiB."
        raise LocalError(what, hint=hint, code="TOO_MANY_PREPARED")


def check_xid(name: str) -> None:
    """Raise LocalError BAD_NAME unless a client may use this name."""
    if not name or "/" in name or not name.isprintable():
        what = f"{name[:40]!r} is no name for a transaction."
        raise LocalError(what, hint="Use 1 to 64 printable characters without '/'.", code="BAD_NAME")


def backlog(prepared: Collection[Prepared], now: int) -> Waiting:
    """Return the messages of prepared transactions as one backlog, with the age of the oldest one."""
    messages, size = sum(it.messages for it in prepared), sum(it.row.size for it in prepared)
    oldest = min((it.row.since for it in prepared), default=now)
    return Waiting(WAITING, messages, size, max(0.0, (now - oldest) / 1e9))


def renumbered(envelopes: Sequence[Envelope], stream: bytes, numbers: dict[str, int]) -> list[Envelope]:
    """Return envelopes with the next numbers of a stream, of which `numbers` has the last by domain."""
    found = list[Envelope]()
    for e in envelopes:
        first = numbers.get(e.domain, 0) + 1
        numbers[e.domain] = last = first + e.last - e.first
        found.append(replace(e, stream=stream, first=first, last=last, low=1))
    return found
