"""Messages that wait at an address, and their assignment to consumers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from msgspec import Struct

from mesh.flow.outstanding_deliveries import OutstandingDeliveries
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.requester import Requester
from mesh.wire.commands import Answer
from mesh.wire.envelope import EVERY, REQUEST, Envelope, runs


class QueuedRequests(Struct, eq=False):
    """Messages of one envelope that arrived for an address."""

    envelope: Envelope
    requester: Requester
    until: float  # deadline to begin
    came: float
    at: int = 0  # index of the first undelivered message
    was_given: bool = False  # delivered before, so already answered

    @property
    def size(self) -> int:
        """The size in bytes, with 64 bytes of overhead per message."""
        return len(self.envelope.body) + 64 * self.envelope.count

    def answers(self, start: int, end: int, answer: Answer) -> Iterator[Answer]:
        """Yield copies of `answer` with the numbers of the messages at the indices `start` to `end` - 1."""
        e = self.envelope
        numbers = e.number_list(range(start, end)) if e.numbers else ()
        for first, last in runs(numbers) if numbers else ((e.first + start, e.first + end - 1),):
            yield Answer(e.domain, first, last, answer.state, answer.matched, answer.text)

    @property
    def is_request(self) -> bool:
        return bool(self.envelope.flags & REQUEST)

    @property
    def is_for_all(self) -> bool:
        return bool(self.envelope.flags & EVERY)


class GivenRun(Struct, eq=False):
    """Delivered messages of one envelope that are not settled, with consecutive tags from `tag`."""

    tag: int
    n: int
    work: QueuedRequests
    at: int  # index of the first message

    def part(self, start: int, end: int) -> GivenRun:
        return GivenRun(start, end - start + 1, self.work, self.at + start - self.tag)

    def as_work(self) -> QueuedRequests:
        """Return the messages as new work, to be assigned again."""
        work = self.work
        indices = range(self.at, self.at + self.n)
        return QueuedRequests(
            work.envelope.cut(indices), work.requester, work.until, work.came, was_given=True
        )

    def numbers(self) -> list[int]:
        return self.work.envelope.number_list(range(self.at, self.at + self.n))


class Server:
    """A consumer of an address, for the time of its connection; `key` is the key of its subscription.

    Messages for all consumers wait in the `line` of each. `line_bytes` is their size.
    """

    def __init__(
        self,
        key: bytes,
        epoch: int,
        credit: int,
        local_only: bool,
        name: str,
        push: Callable[[Server, EnvelopeSlice], None],
    ) -> None:
        self.key = key
        self.epoch = epoch
        self.credit = credit
        self.local_only = local_only
        self.name = name  # of its session
        self.push = push  # sends messages to the client
        self.line: deque[tuple[QueuedRequests, int]] = deque()  # with the index of its next message
        self.line_bytes = 0
        self.holding = OutstandingDeliveries[GivenRun]()
        self.turn = 0  # turn of the last assignment

    def add_to_line(self, work: QueuedRequests) -> None:
        self.line.append((work, 0))
        self.line_bytes += work.size

    def drop_first_of_line(self) -> None:
        work, _ = self.line.popleft()
        self.line_bytes -= work.size

    @property
    def busy(self) -> int:
        return self.holding.out

    @property
    def room(self) -> int:
        """The number of messages that the consumer may get now."""
        return max(0, self.credit - self.holding.out)

    @property
    def is_for_others(self) -> bool:
        return not self.local_only


class ServedAddress:
    """An address served here: its consumers and its waiting messages.

    Messages from other nodes wait separately, because some consumers serve local messages only.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.servers: dict[bytes, Server] = {}  # by the key of the subscription
        self.here: deque[QueuedRequests] = deque()
        self.elsewhere: deque[QueuedRequests] = deque()
        self.bytes = 0  # waiting for any consumer
        self.turn = 0

    @property
    def consumers(self) -> int:
        """The number of consumers that serve messages from other nodes."""
        return sum(server.is_for_others for server in self.servers.values())

    @property
    def numbers(self) -> list[int]:
        """The sequence numbers of the consumers: their epochs, as each registration has its own."""
        return [server.epoch for server in self.servers.values() if server.is_for_others]

    @property
    def waiting_bytes(self) -> int:
        """The size of all messages that wait; one for all consumers counts at each of them."""
        return self.bytes + sum(server.line_bytes for server in self.servers.values())

    @property
    def is_waiting(self) -> bool:
        """Whether any message waits for the credit of a consumer."""
        return bool(self.here or self.elsewhere) or any(server.line for server in self.servers.values())

    def ready(self, requester: Requester) -> list[Server]:
        """Return the consumers that may get messages of `requester`, now or when they have credit."""
        return [s for s in self.servers.values() if s.is_for_others or requester.is_local]

    def bytes_ahead(self, work: QueuedRequests) -> int:
        """Return the size of the messages that wait before `work`; for all consumers, at the slowest."""
        if work.is_for_all:
            return max((server.line_bytes for server in self.ready(work.requester)), default=0)
        return self.bytes

    def add(self, work: QueuedRequests) -> None:
        (self.here if work.requester.is_local else self.elsewhere).append(work)
        self.bytes += work.size

    def add_first(self, work: QueuedRequests) -> None:
        """Put returned work ahead of all other waiting work."""
        (self.here if work.requester.is_local else self.elsewhere).appendleft(work)
        self.bytes += work.size

    def drop(self, work: QueuedRequests) -> None:
        (self.here if work.requester.is_local else self.elsewhere).remove(work)
        self.bytes -= work.size

    def waiting_work(self) -> Iterator[QueuedRequests]:
        """Iterate over all waiting work. The order is unspecified."""
        yield from tuple(self.elsewhere)
        yield from tuple(self.here)


def works_of(server: Server, address: ServedAddress, is_first: bool) -> Iterator[QueuedRequests]:
    """Yield the work of a server: its outstanding messages, and messages waiting in its own line.

    With `is_first`, work that waits at the address for any server is included.
    """
    last = None
    for given in server.holding:
        if given.work is not last:
            yield given.work
        last = given.work
    yield from (work for work, _ in server.line)
    if is_first:
        yield from address.waiting_work()
