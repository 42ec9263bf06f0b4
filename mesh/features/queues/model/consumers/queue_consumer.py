"""A consumer of a queue: its credit, its selector, and its progress in the search for messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import inf
from typing import Protocol

from mesh.features.queues.model.consumers.leased_deliveries import LeasedDeliveries, LeasedRun
from mesh.features.queues.model.envelopes.counts import numbers_of
from mesh.features.queues.model.envelopes.queued_envelope import EnvelopeKey, QueuedEnvelope
from mesh.features.queues.model.envelopes.ready_index import FIRST
from mesh.values import Headers

LAPSED = 1_000  # messages per consumer that accept late acks
GRACE = 5.0  # s that a disconnected consumer keeps its messages
GRACE_TO_MOVE = 15.0  # s, if its client can go to another node


def grace(can_move: bool, lease: float) -> float:
    """Return how long a disconnected consumer keeps its messages, in s; a lease may end earlier."""
    return max(GRACE, min(GRACE_TO_MOVE, lease)) if can_move else GRACE


class TakerSelector(Protocol):
    """Interface of a selector, as a queue uses it."""

    text: str

    def wants(self, key: str, priority: int, headers: Headers) -> bool: ...


class QueueConsumer:
    """A consumer, identified by the key of its subscription; it survives short disconnections."""

    def __init__(
        self,
        key: bytes,
        name: str,
        epoch: int,
        credit: int,
        selector: TakerSelector | None = None,
        lease: float = inf,
    ) -> None:
        """Create a consumer for the session `name`, with a `lease` in seconds for each message."""
        self.key = key
        self.name = name
        self.epoch = epoch
        self.credit = credit
        self.selector = selector
        self.lease = lease
        self.holding = LeasedDeliveries()
        self.lapsed: dict[int, tuple[QueuedEnvelope, int]] = {}  # by tag: messages whose lease ended
        self.settled: set[int] = set()  # tags acknowledged before this epoch
        self.acked: deque[tuple[bytes, int, int]] = deque(maxlen=LAPSED)  # recent acks: stream, first, last
        self.away = inf  # time when its session disconnected
        self.is_paused = False  # until its registration is on disk
        self.is_elsewhere = False  # its session moved: it only settles what it has, and stays paused
        self.claimed = 0  # messages that it has of other nodes
        self.grace = GRACE
        self.passed: dict[int, EnvelopeKey] = {}  # by priority: searched up to here
        self.seen: dict[int, int] = {}  # by priority: last position searched on disk
        self.vain = 0  # messages searched since the last match
        self.rests = 0.0  # no search before this time
        self.is_through = False  # whether it has searched all of memory
        self.turn = 0  # order number of its last delivery

    @property
    def room(self) -> int:
        """The number of further messages that the consumer may receive now: 0 while paused or away."""
        return 0 if self.is_paused or self.away < inf else max(0, self.credit - self.busy - self.claimed)

    @property
    def busy(self) -> int:
        return self.holding.out

    def searched_up_to(self, priority: int) -> EnvelopeKey:
        """Return the key up to which the consumer has searched the envelopes in memory."""
        return self.passed.get(priority, FIRST)

    def place_on_disk(self, priority: int) -> int:
        """Return the position up to which the consumer has searched the disk."""
        return self.seen.get(priority, 0)

    def look_again(self, priority: int, key: EnvelopeKey) -> None:
        """Make the consumer search again from `key`, if its search has passed that key."""
        if key <= self.searched_up_to(priority):
            self.passed[priority] = (key[0], key[1], key[2] - 1)

    def lapse(self, run: LeasedRun) -> None:
        for count, number in enumerate(numbers_of(run.runs), run.tag):
            self.lapsed[count] = run.queued, number
        while len(self.lapsed) > LAPSED:
            del self.lapsed[next(iter(self.lapsed))]

    def take_lapsed(self, first: int, last: int) -> Iterator[tuple[int, QueuedEnvelope, int]]:
        """Remove and yield (tag, envelope, number) for each tag from `first` to `last` whose lease ended."""
        for count in [c for c in self.lapsed if first <= c <= last]:
            yield count, *self.lapsed.pop(count)
