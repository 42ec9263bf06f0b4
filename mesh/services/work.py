"""What waits at an address, and is given to those who serve it there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from msgspec import Struct

from mesh.routing.portion import Portion
from mesh.services.consumer import AddressConsumer
from mesh.wire.commands import Answer
from mesh.wire.envelope import EVERY, REQUEST, Envelope, runs


class Work(Struct, eq=False):
    """Messages of one envelope that came here for an address."""

    envelope: Envelope
    source: bytes  # uuid of the peer that brought it; b"" = a client here has sent it
    until: float  # when it need not be begun any more
    came: float
    at: int = 0  # the first one that is not given yet
    was_given: bool = False  # to somebody who has given it back: its sender was told that somebody has it

    @property
    def size(self) -> int:
        """Bytes, with what a message without any costs."""
        return len(self.envelope.body) + 64 * self.envelope.count

    def answers(self, start: int, end: int, answer: Answer) -> Iterator[Answer]:
        """What is to be said of these messages, by their numbers."""
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


class GivenMessage(Struct, eq=False):
    """One message of it that somebody has."""

    work: Work
    index: int
    since: float

    def alone(self) -> Work:
        """The same, to be given to another."""
        work = self.work
        return Work(work.envelope.cut((self.index,)), work.source, work.until, work.came, was_given=True)

    @property
    def number(self) -> int:
        return self.work.envelope.number(self.index)


class Server(AddressConsumer[GivenMessage]):
    """A consumer of an address. What is for all waits for each of them on its own."""

    def __init__(
        self,
        key: bytes,
        epoch: int,
        credit: int,
        local_only: bool,
        name: str,
        push: Callable[[Server, Portion], None],
    ) -> None:
        super().__init__(key, epoch, credit, local_only)
        self.name = name  # of its session
        self.push = push  # puts something on its way
        self.line: deque[tuple[Work, int]] = deque()  # with the first message that it has not had

    @property
    def is_for_others(self) -> bool:
        """Does it serve what comes from other nodes?"""
        return not self.local_only


class ServedAddress:
    """One address here: who serves it, and what waits. What came from other nodes waits apart, since some
    serve only what is sent here.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.servers: dict[bytes, Server] = {}  # by the key of the subscription
        self.here: deque[Work] = deque()
        self.elsewhere: deque[Work] = deque()
        self.bytes = 0  # that wait
        self.turn = 0

    @property
    def consumers(self) -> int:
        """How many serve what comes from other nodes."""
        return sum(server.is_for_others for server in self.servers.values())

    @property
    def is_waiting(self) -> bool:
        """Is there anything that nobody has room for?"""
        return bool(self.here or self.elsewhere) or any(server.line for server in self.servers.values())

    def ready(self, source: bytes) -> list[Server]:
        """Those who may be given what came so, now or later."""
        return [s for s in self.servers.values() if s.is_for_others or not source]

    def add(self, work: Work) -> None:
        """It waits for its turn."""
        (self.elsewhere if work.source else self.here).append(work)
        self.bytes += work.size

    def add_first(self, work: Work) -> None:
        """It waited before all others."""
        (self.elsewhere if work.source else self.here).appendleft(work)
        self.bytes += work.size

    def drop(self, work: Work) -> None:
        """It waits no more."""
        (self.elsewhere if work.source else self.here).remove(work)
        self.bytes -= work.size

    def waiting(self) -> Iterator[Work]:
        """All that waits, in no order that counts."""
        yield from tuple(self.elsewhere)
        yield from tuple(self.here)


def works_of(server: Server, address: ServedAddress, is_first: bool) -> Iterator[Work]:
    """Yield what is held for a server: each work of which it has something, or of which something waits for
    it, and with `is_first` what waits at the address for any of its servers.
    """
    last = None
    for given in server.out.values():
        if given.work is not last:
            yield given.work
        last = given.work
    yield from (work for work, _ in server.line)
    if is_first:
        yield from address.waiting()
