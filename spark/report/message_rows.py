"""Rows of a report about messages: choices of balancers, queues, topics and requests, without Spark.

The fields of a class are columns of its view, with the same names and units, which spark/views describes.
Times are aware and in UTC. None means unknown. Texts of the mesh are single lines of limited length, and not
escaped yet.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A row of balance.counters: counts of one boot of an observer for a candidate.

    `clean` means that the boot stopped cleanly, so the counts are final.
    """

    observer: str
    observer_uuid: str
    observer_boot: int
    node: str
    sent: int
    chosen: int
    asked: int
    answered: int
    seconds: float
    clean: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """A row of balance.quality: the share of a candidate at an observer, compared with its capacity."""

    observer: str
    observer_uuid: str
    node: str
    sent: int
    chosen: int
    chosen_share: float | None
    answered: int
    latency_ms: float | None
    capacity_share: float | None
    chosen_ratio: float | None
    chosen_variation: float | None

    @property
    def whose(self) -> tuple[str, str]:
        """The choosing node, as name and uuid, because several nodes may have had that name in turn."""
        return self.observer, self.observer_uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A row of queues.growth."""

    observer: str
    queue: str
    depth: int
    bytes: int | None
    oldest_s: float | None
    consumers: int | None
    arrives_per_s: float | None
    leaves_per_s: float | None
    depth_max: int
    growth_per_hour: float | None
    verdict: str

    @property
    def name(self) -> str:
        """The name without the prefix `queue/`, which backlogs of other kinds do not have."""
        return self.queue.removeprefix("queue/")

    @property
    def is_stranded(self) -> bool:
        return self.depth > 0 and self.consumers == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A row of parts.of_queues."""

    queue: str
    parts: int
    put: int | None
    moved: int
    moved_share: float | None
    stranded_share: float | None
    stranded_max: int | None
    starved_share: float | None
    starved_max: int | None

    @property
    def name(self) -> str:
        return self.queue.removeprefix("queue/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A row of topics.busiest."""

    domain: str | None
    topic: str
    messages: int
    messages_per_s: float | None
    bytes: int
    masters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A row of services.fared: requests to an address at one serving node; `node` is "" without one."""

    address: str
    node: str
    requests: int
    requests_per_s: float | None
    replies: int
    failed: int
    lost: int
    refused: int
    expired: int
    sent: int
    mean_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    callers: int

    @property
    def failures(self) -> int:
        """The number of requests without a good reply."""
        return self.failed + self.lost + self.refused + self.expired


@dataclass(frozen=True, slots=True, kw_only=True)
class Fare:
    """A row of services.over_time: results of requests to an address in a bucket of time."""

    bucket_at: datetime
    address: str
    requests_per_s: float | None
    failures_per_s: float | None
    p50_ms: float | None
    p99_ms: float | None
