"""Views of the load of nodes over time."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from mesh.history.views.rows import named, of_kind, ratio

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
WIDTHS = (
    5, 10, 30, _MINUTE, 2 * _MINUTE, 5 * _MINUTE, 10 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE, _HOUR, 2 * _HOUR,
    3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY, 30 * _DAY, 365 * _DAY,
)  # fmt: skip
"""Readable widths of a bucket of time, in s."""
# The smallest width is used only if it fills this many times as many buckets as the next width. Otherwise
# many buckets would be empty.
DENSE = 1.5


def width(history: DataFrame, buckets: int = 120) -> int | None:
    """Return the least of WIDTHS with which all states fit in `buckets` buckets, or None without states.

    The smallest width is used only if states are frequent enough. Empty buckets do not count, so that a clock
    that once showed 1970 does not force wide buckets. The function runs a small Spark job.
    """
    shortest = WIDTHS[0]
    ticks = (
        of_kind(history, "state").select(F.floor(F.unix_seconds("ts") / shortest).alias("tick")).distinct()
    )
    last = F.lag("tick").over(Window.partitionBy(F.lit(0)).orderBy("tick"))
    steps = ticks.where(F.col("tick").isNotNull()).select("tick", last.alias("last"))
    in_other = [
        F.floor(F.col("tick") / (w // shortest)) != F.floor(F.col("last") / (w // shortest)) for w in WIDTHS
    ]
    counts = steps.agg(*(F.sum(F.coalesce(other, F.lit(True)).cast("long")) for other in in_other)).first()
    if counts is None or counts[0] is None:
        return None
    first = 0 if counts[0] >= DENSE * counts[1] else 1
    few = (w for w, count in zip(WIDTHS[first:], counts[first:], strict=True) if count <= buckets)
    return next(few, WIDTHS[-1])


def over_time(history: DataFrame, width_s: int | None = None, buckets: int = 120) -> DataFrame:
    """Return the load of nodes over time, one row per bucket of `width_s` seconds and node.

    The default width is `width(history, buckets)`. Columns: bucket_at (its start), width_s, node, states,
    cpu_percent, load_share (means), lag_s (worst), ram_percent (used), published_per_s, delivered_per_s
    (means), pending, tailback, queued (messages, most), machine (the last one that it ran on).
    """
    wide = width_s or width(history, buckets) or WIDTHS[0]
    moment = F.unix_seconds("ts")
    states = named(of_kind(history, "state")).withColumn("_start", moment - F.pmod(moment, F.lit(wide)))
    free = ratio(F.col("ram_free"), F.col("ram_total"))
    return (
        states.groupBy("_start", "node")
        .agg(
            F.count("*").alias("states"),
            F.avg("cpu").alias("cpu_percent"),
            F.avg("load").alias("load_share"),
            F.max("lag").alias("lag_s"),
            F.avg(100 * (1 - free)).alias("ram_percent"),
            F.avg("published").alias("published_per_s"),
            F.avg("delivered").alias("delivered_per_s"),
            F.max("pending").alias("pending"),
            F.max("tailback").alias("tailback"),
            F.max("queued").alias("queued"),
            F.max_by("machine", F.when(F.col("machine").isNotNull(), F.col("ts"))).alias("machine"),
        )
        .withColumn("bucket_at", F.timestamp_seconds("_start"))
        .withColumn("width_s", F.lit(wide))
        .select(
            "bucket_at", "width_s", "node", "states", "cpu_percent", "load_share", "lag_s", "ram_percent",
            "published_per_s", "delivered_per_s", "pending", "tailback", "queued", "machine",
        )
    )  # fmt: skip
