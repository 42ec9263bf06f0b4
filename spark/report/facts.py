"""Facts of a report: plain values of limited size, without Spark.

The fields of a row class are columns of its view, with the same names and units, which spark/views describes.
Times are aware and in UTC. None means unknown. Texts of the mesh are single lines of limited length, and not
escaped for HTML yet.
"""

from dataclasses import dataclass
from datetime import datetime

Values = tuple[float | None, ...]  # one for each of `Facts.times`
Series = dict[str, Values]  # by node, or by address
MEASURES = ("cpu_percent", "load_share", "lag_s", "published_per_s", "delivered_per_s", "waiting")
FARES = ("requests_per_s", "failures_per_s", "p50_ms", "p99_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node over the whole period, from several views.

    Percentages, rates and `load_share` are means over the buckets, or with `peak` maxima. `lag_s` is the
    median of the buckets' maxima, and `lag_worst_s` the largest of them. `waiting` is the maximum of
    `assembling.waiting` over the buckets; `share` and `fair_share` are shares of all balanced messages.
    """

    name: str
    boots: int
    states: int
    first_at: datetime | None
    last_at: datetime | None
    cpu_percent: float | None
    cpu_peak_percent: float | None
    load_share: float | None
    lag_s: float | None
    lag_worst_s: float | None
    ram_peak_percent: float | None
    published_per_s: float | None
    delivered_per_s: float | None
    waiting: float | None
    share: float | None
    fair_share: float | None
    deaths: int
    restarts: int
    machine: str | None = None  # the latest one


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A row of load.over_time."""

    bucket_at: datetime
    node: str
    cpu_percent: float | None
    load_share: float | None
    lag_s: float | None
    ram_percent: float | None
    published_per_s: float | None
    delivered_per_s: float | None
    pending: float | None
    tailback: float | None
    queued: float | None
    machine: str | None = None


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
class Life:
    """A row of membership.timeline: one boot of a node, and how it ended."""

    node: str
    boot: int
    first_at: datetime
    last_at: datetime
    ended: str
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flapping:
    """A row of membership.flapping: state changes of a node."""

    node: str
    suspicions: int
    refutations: int
    deaths: int
    restarts: int
    seen_hours: float
    changes_per_hour: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """A row of detection.times: how soon observers noticed a death or a goodbye."""

    how: str
    node: str
    boot: int | None
    last_at: datetime | None
    first_observer: str
    first_at: datetime
    first_s: float | None
    final_s: float | None
    observers: int
    lived_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A row of links.matrix."""

    observer: str
    node: str
    state: str | None
    rtt_median_ms: float | None
    rtt_p95_ms: float | None
    logged_in_share: float | None
    lost: int


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """A row of forecast.capacity."""

    node: str
    points: int
    rate_per_s: float | None
    load_share: float | None
    capacity_per_s: float | None
    capacity_low_per_s: float | None
    capacity_high_per_s: float | None
    reason: str | None
    full_at: datetime | None
    full_first_at: datetime | None
    full_last_at: datetime | None

    @property
    def in_use(self) -> float:
        """The share of the node's capacity in use; 0 if unknown."""
        return (self.rate_per_s or 0) / self.capacity_per_s if self.capacity_per_s else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """A row of clocks.skews: the lead of a node's clock over the mesh's common time."""

    node: str
    skew_s: float
    observers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """A row of coverage.rows: the recorded and the missing data of a node."""

    node: str
    boots: int
    states: int
    states_lost: int
    first_at: datetime | None
    last_at: datetime | None
    gap_s: float | None
    gap_at: datetime | None
    lines: int
    future: int
    past: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A row of coverage.quarantined: lines that could not be read, by reason and writer."""

    reason: str
    node: str | None
    rows: int
    segments: int
    example: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All facts of a report.

    Rows have the order of their `View` in mesh.history.report.collecting, unless a comment gives another.
    `series` has MEASURES by node over `times`, the starts of buckets of `width_s` seconds. `fares` has FARES
    by address of the most requested addresses. `kinds` counts the rows of the history by kind. A state counts
    once, however many nodes received it.
    """

    clusters: tuple[str, ...]
    made_at: datetime
    since: datetime | None
    until: datetime | None
    kinds: dict[str, int]
    width_s: float
    times: tuple[datetime, ...]
    series: dict[str, Series]
    fares: dict[str, Series]
    nodes: tuple[Node, ...]  # the busiest first
    counters: tuple[Counter, ...]
    balance: tuple[Quality, ...]
    lives: tuple[Life, ...]  # in the order in which they began
    flapping: tuple[Flapping, ...]
    detections: tuple[Detection, ...]
    links: tuple[Link, ...]
    queues: tuple[Queue, ...]
    parts: tuple[Parts, ...]
    topics: tuple[Topic, ...]
    services: tuple[Service, ...]
    forecasts: tuple[Forecast, ...]
    clocks: tuple[Clock, ...]
    coverage: tuple[Coverage, ...]
    quarantined: tuple[Quarantined, ...]

    @property
    def last_lives(self) -> dict[str, Life]:
        """The life of each node with the latest sign of life; start times may be from a wrong clock."""
        return {life.node: life for life in sorted(self.lives, key=lambda life: life.last_at)}
