"""Collects the rows of the views as plain values, with limits, each view by its own Spark job."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from itertools import count
from math import isnan
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from mesh.history.report import assembling, message_rows, node_rows
from mesh.history.report.facts import Facts
from mesh.history.report.figures import harmless
from mesh.history.report.message_rows import Fare
from mesh.history.report.node_rows import Load
from mesh.history.views import (
    balance,
    clocks,
    coverage,
    detection,
    forecast,
    links,
    load,
    membership,
    parts,
    queues,
    services,
    topics,
)
from mesh.history.views.rows import TOLERANCE

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SETTLED, AHEAD = datetime(2020, 1, 1, tzinfo=UTC), timedelta(hours=1)  # a clock beyond these was wrong
BUCKETS, TOPICS = 120, 20
# Views at a time: while one is planned on one processor, the other uses the rest.
TOGETHER = 2
FEW, SOME, MANY = 200, 5000, 100_000  # rows

Tell = Callable[[str, int, int], None]  # next step, steps done, steps in all
Noun = TypeVar("Noun", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class View:
    """A view to collect for the report, which keeps its first `most` rows.

    `of(history, lives)` computes the view; `lives` is the result of `membership.timeline`. `words` is the
    name of the view in progress messages. `order` names columns, with "-" in front for descending order, and
    `noun` is the class of a row.
    """

    words: str
    of: Callable[[DataFrame, DataFrame], DataFrame]
    noun: type[Any]
    order: tuple[str, ...]
    most: int


def _alone(view: Callable[[DataFrame], DataFrame]) -> Callable[[DataFrame, DataFrame], DataFrame]:
    return lambda history, lives: view(history)


VIEWS = {
    "lives": View("joins and "
        "departures", lambda history, lives: lives, node_rows.Life, ("-first_at", "node"), SOME),
    "flapping": View("flapping nodes", membership.flapping, node_rows.Flapping,
                     ("-deaths", "-restarts", "-suspicions", "node"), SOME),
    "detections": View("detection of deaths", detection.times, node_rows.Detection,
                       ("-first_at", "node"), SOME),
    "counters": View("choices of balancers", _alone(balance.counters), message_rows.Counter,
                     ("observer", "observer_boot", "-sent", "node"), MANY),
    "balance": View("fairness of balancers", _alone(balance.quality), message_rows.Quality,
                    ("observer", "-chosen", "node"), MANY),
    "links": View("links", _alone(links.matrix), node_rows.Link, ("observer", "node"), MANY),
    "queues": View("backlogs", _alone(queues.growth), message_rows.Queue,
                   ("-growth_per_hour", "-depth_max", "observer", "queue"), FEW),
    "parts": View("moves of queue messages", _alone(parts.of_queues), message_rows.Parts,
                  ("-moved", "-parts", "queue"), FEW),
    "topics": View("busiest topics", _alone(topics.busiest), message_rows.Topic,
                   ("-messages", "topic", "domain"), TOPICS),
    "services": View("requests", _alone(services.fared), message_rows.Service,
                     ("-requests", "-sent", "address", "node"), SOME),
    "forecasts": View("capacity of nodes", _alone(forecast.capacity), node_rows.Forecast,
                      ("full_at", "-rate_per_s", "node"), SOME),
    "coverage": View("missing data", _alone(coverage.rows), node_rows.Coverage,
                     ("-states_lost", "-gap_s", "node"), SOME),
    "quarantined": View("unreadable lines", _alone(coverage.quarantined), node_rows.Quarantined,
                        ("-rows", "reason", "node"), FEW),
}  # fmt: skip


def collect(history: DataFrame, now: datetime, tell: Tell) -> Facts:
    """Return the facts of a history, as read by mesh.history.reading.

    `now` is the time of this report. `tell` reports progress, and is called from several threads.
    """
    done = count()

    def step(words: str) -> None:
        tell(words, next(done), len(VIEWS) + 3)

    step("wrong clocks")
    skews = clocks.skews(history).cache()
    found: dict[str, Any] = {"clocks": rows_of(skews, node_rows.Clock)}
    is_off = any(abs(clock.skew_s) > TOLERANCE for clock in found["clocks"])
    aligned = clocks.aligned(history, skews) if is_off else history
    lives = membership.timeline(aligned).cache()

    def whole() -> dict[str, Any]:
        step("contents")
        return _whole(aligned, now)

    def over_time() -> dict[str, Any]:
        step("load over time")
        return _over_time(aligned, now)

    def view(field: str) -> tuple[Any, ...]:
        it = VIEWS[field]
        step(it.words)
        rows = it.of(aligned, lives).orderBy(*map(_ordered, it.order)).limit(it.most)
        return rows_of(rows, it.noun)

    with ThreadPoolExecutor(TOGETHER) as pool:
        others = [pool.submit(whole), pool.submit(over_time)]
        found |= zip(VIEWS, pool.map(view, VIEWS), strict=True)
        for other in others:
            found |= other.result()
    for frame in (skews, lives):
        frame.unpersist()
    step("done")
    return assembling.assemble(made_at=now, **found)


def _over_time(aligned: DataFrame, now: datetime) -> dict[str, Any]:
    width = load.width(aligned, BUCKETS) or 0
    rows = rows_of(load.over_time(aligned, width), Load)
    fares = rows_of(services.over_time(aligned, width or None), Fare)
    return {
        "load": [row for row in rows if _is_likely(row.bucket_at, now)],
        "fares": [row for row in fares if _is_likely(row.bucket_at, now)],
        "width_s": width,
        "fares_width_s": max(width, services.LEAST),
    }


def _ordered(by: str) -> Column:
    return F.desc_nulls_last(by[1:]) if by.startswith("-") else F.asc_nulls_last(by)


def _whole(history: DataFrame, now: datetime) -> dict[str, Any]:
    """Return totals over all rows: clusters, the period by likely times, and the number of rows by kind."""
    likely = F.when(F.col("ts").between(F.lit(SETTLED), F.lit(now + AHEAD)), F.unix_micros("ts"))
    rows = (
        history.groupBy("kind", "cluster")
        .agg(F.count("*").alias("rows"), F.min(likely).alias("since"), F.max(likely).alias("until"))
        .collect()
    )
    kinds: Counter[str] = Counter()
    for row in rows:
        kinds[row["kind"]] += row["rows"]
    return {
        "clusters": tuple(sorted({harmless(row["cluster"]) for row in rows if row["cluster"]})),
        "since": moment(min((row["since"] for row in rows if row["since"]), default=None)),
        "until": moment(max((row["until"] for row in rows if row["until"]), default=None)),
        "kinds": dict(kinds.most_common()),
    }


def _is_likely(when: datetime, now: datetime) -> bool:
    return SETTLED <= when <= now + AHEAD


def rows_of(frame: DataFrame, noun: type[Noun]) -> tuple[Noun, ...]:
    """Return an instance of `noun` for each row, with the columns that its fields name."""
    moments = {name for name, hint in get_type_hints(noun).items() if "datetime" in str(hint)}
    names = [field.name for field in fields(noun)]
    # A timestamp would silently be converted to the local zone.
    columns = [F.unix_micros(name).alias(name) if name in moments else F.col(name) for name in names]
    return tuple(
        noun(**{name: _plain(row[name], name in moments) for name in names})
        for row in frame.select(columns).collect()
    )


def _plain(value: Any, is_moment: bool) -> Any:
    if is_moment:
        return moment(value)
    if isinstance(value, str):
        return harmless(value)
    return None if isinstance(value, float) and isnan(value) else value


def moment(micros: int | None) -> datetime | None:
    """Return the time from microseconds since 1970, or None if it is outside the calendar."""
    try:
        return None if micros is None else EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None
