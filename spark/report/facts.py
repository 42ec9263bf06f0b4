"""Facts of a report: plain values of limited size, without Spark.

Times are aware and in UTC. None means unknown. The rows of the views are in node_rows and message_rows.
"""

from dataclasses import dataclass
from datetime import datetime

from mesh.history.report.message_rows import Counter, Parts, Quality, Queue, Service, Topic
from mesh.history.report.node_rows import (
    Clock,
    Coverage,
    Detection,
    Flapping,
    Forecast,
    Life,
    Link,
    Node,
    Quarantined,
)

Values = tuple[float | None, ...]  # one for each of `Facts.times`
Series = dict[str, Values]  # by node, or by address
MEASURES = ("cpu_percent", "load_share", "lag_s", "published_per_s", "delivered_per_s", "waiting")
FARES = ("requests_per_s", "failures_per_s", "p50_ms", "p99_ms")


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
