"""Views of requests by address and serving node."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from mesh.history.views import counting
from mesh.history.views.load import width
from mesh.history.views.rows import of_kind, ratio, seconds, settled

LEAST = 10  # s between two lines of an address, at least
FAILURES = ("failed", "lost", "refused", "expired")
COUNTERS = ("sent", "requests", "replies", *FAILURES, "seconds")


def fared(history: DataFrame, n: int = 1000) -> DataFrame:
    """Return one row for each of the n pairs of address and node with the most requests.

    Columns: address, node (that served it; empty without one), requests, requests_per_s (over the time in
    which the requesters' nodes counted), replies, failed, lost, refused, expired (requests), sent (messages
    without a reply), mean_ms, p50_ms (of the replies), p99_ms (of the worst line), callers (nodes of the
    requesters).
    """
    new = _new(history)
    sums = [F.sum(name).alias(name) for name in COUNTERS]
    of_caller = (
        new.join(_spans(history), list(counting.BOOT), "left")
        .groupBy("address", "node", *counting.BOOT)
        .agg(*sums, F.first("_long").alias("_long"))
        .groupBy("address", "node", "observer_uuid")
        .agg(*sums, F.sum("_long").alias("_long"))
        .withColumn("_rate", ratio(F.col("requests"), F.col("_long")))
    )
    latencies = new.groupBy("address", "node").agg(*_latencies())
    return (
        of_caller.groupBy("address", "node")
        .agg(*sums, F.sum("_rate").alias("requests_per_s"), F.count("*").alias("callers"))
        .withColumn("mean_ms", 1000 * ratio(F.col("seconds"), F.col("replies")))
        .join(latencies, ["address", "node"])
        .select(
            "address", "node", "requests", "requests_per_s", "replies", *FAILURES, "sent", "mean_ms",
            "p50_ms", "p99_ms", "callers",
        )
        .orderBy(F.desc("requests"), F.desc("sent"), "address", "node")
        .limit(n)
    )  # fmt: skip


def over_time(history: DataFrame, width_s: int | None = None, n: int = 8) -> DataFrame:
    """Return one row per bucket and address, for the n addresses with the most requests.

    A bucket is `width_s` seconds wide, by default as `load.width` returns, and at least LEAST. Columns:
    bucket_at (its start), address, requests_per_s, failures_per_s, p50_ms (of the replies), p99_ms (of the
    worst line).
    """
    new = _new(history)
    busiest = new.groupBy("address").agg(F.sum("requests").alias("_all")).where(F.col("_all") > 0)
    busiest = busiest.orderBy(F.desc("_all"), "address").limit(n).select("address")
    moment = F.unix_seconds("ts")
    wide = max(LEAST, width_s or width(history) or LEAST)
    failures = sum((F.sum(name) for name in FAILURES), F.lit(0))
    return (
        new.join(F.broadcast(busiest), "address")
        .withColumn("bucket_at", F.timestamp_seconds(moment - F.pmod(moment, F.lit(wide))))
        .groupBy("bucket_at", "address")
        .agg(
            (F.sum("requests") / wide).alias("requests_per_s"),
            (failures / wide).alias("failures_per_s"),
            *_latencies(),
        )
    )


def _new(history: DataFrame) -> DataFrame:
    """Return the lines of services, with the counts since the previous line."""
    boots = F.broadcast(counting.boots(history))
    lines = of_kind(history, "service").join(boots, list(counting.BOOT), "left")
    before = Window.partitionBy(*counting.BOOT, "address", "node").orderBy("line")
    # Counts before the first line belong to it only if the boot's start is in the history.
    first = F.coalesce("started", F.lit(False))

    def new(name: str) -> Column:
        value = F.coalesce(name, F.lit(0))
        last = F.lag(value).over(before)
        since = F.when(last.isNull(), F.when(first, value).otherwise(0))
        # A counter that was dropped starts at 0 again.
        return since.when(value < last, value).otherwise(value - last)

    return lines.withColumns({name: new(name) for name in COUNTERS})


def _spans(history: DataFrame) -> DataFrame:
    """Return for each boot `_long`, the seconds between its first and its last line.

    The event `started`, if it is in the history, counts as the first line.
    """
    is_start = (F.col("kind") == "event") & (F.col("event") == "started")
    rows = of_kind(history, "service", "event").where((F.col("kind") == "service") | is_start)
    long = seconds(F.max(settled())) - seconds(F.min(settled()))
    return rows.groupBy(*counting.BOOT).agg(long.alias("_long"))


def _latencies() -> tuple[Column, Column]:
    median = F.percentile("p50", 0.5, F.greatest(F.col("replies"), F.lit(0)))
    return (1000 * median).alias("p50_ms"), (1000 * F.max("p99")).alias("p99_ms")
