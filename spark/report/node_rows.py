"""Rows of a report about nodes: their load, lives, links, clocks and records, without Spark.

The fields of a class are columns of its view, with the same names and units, which spark/views describes.
Times are aware and in UTC. None means unknown. Texts of the mesh are single lines of limited length, and not
escaped yet.
"""

from dataclasses import dataclass
from datetime import datetime


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
class Clock:
    """A row of clocks.skews: the lead of a node's clock over the mesh's common time."""

    node: str
    skew_s: float
    observers: int


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
