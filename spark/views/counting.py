"""Counters of observers, which start at 0 in each boot."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from mesh.history.views.rows import of_kind, settled

BOOT = ("observer_uuid", "observer_boot")


def boots(history: DataFrame) -> DataFrame:
    """Return one row per boot of an observer whose start or clean end is in the history.

    Columns: observer_uuid, observer_boot, started, stopped (whether the history has that event).
    """
    events = of_kind(history, "event").where(F.col("event").isin("started", "stopped"))
    return events.groupBy(*BOOT).agg(
        F.max(F.col("event") == "started").alias("started"),
        F.max(F.col("event") == "stopped").alias("stopped"),
    )


def totals(history: DataFrame, kind: str, about: Sequence[str], counters: Sequence[str]) -> DataFrame:
    """Return the counts of observers, one row per observer, boot and counted object.

    Columns: observer, BOOT, `about`; the last values of `counters`, and in `<counter>_before` their values at
    the first line in the history, or 0 if the boot's start is in it; first_at, last_at (lines, by a clock
    that was set), started, stopped.
    """
    # A counter only grows, so its last value is its maximum, which needs no sorting.
    counted: list[Column] = []
    for name in counters:
        counted += [F.max(name).alias(name), F.min(name).alias(f"{name}_before")]
    lines = of_kind(history, kind).groupBy("observer", *BOOT, *about)
    reached = lines.agg(*counted, F.min(settled()).alias("first_at"), F.max(settled()).alias("last_at"))
    started = F.coalesce("started", F.lit(False))
    joined = reached.join(F.broadcast(boots(history)), list(BOOT), "left")
    return joined.withColumns(
        {name: F.coalesce(name, F.lit(0)) for name in counters}
        | {
            f"{name}_before": F.when(started, 0).otherwise(F.coalesce(f"{name}_before", F.lit(0)))
            for name in counters
        }
        | {"started": started, "stopped": F.coalesce("stopped", F.lit(False))}
    )


def within(name: str) -> Column:
    """Return the growth of a counter within the history, summed over the rows of a group."""
    return F.sum(F.col(name) - F.col(f"{name}_before")).alias(name)
