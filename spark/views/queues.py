"""View of the growth of queues."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from mesh.history.views.regression import Line, fit
from mesh.history.views.rows import of_kind, seconds, settled

ENOUGH = 3  # lines
# Share of the maximum depth below which a change counts as steady.
MATTERS = 0.1


def growth(history: DataFrame) -> DataFrame:
    """Return the size and the growth of queues, one row per observer and queue.

    Columns: observer, queue, depth (messages), bytes, oldest_s, consumers (at the last line), arrives_per_s,
    leaves_per_s (messages, the mean of all lines), depth_max, growth_per_hour (messages: the slope of a line
    through all depths), verdict, lines, last_at. Consumers and both rates are null if an older release wrote
    the lines, and for names other than `queue/…`.

    `verdict` is "growing" or "draining" if the slope differs from 0 with 95 % confidence, and the depth rises
    or falls by at least one message and a tenth of its maximum. Otherwise it is "steady", or "unknown" with
    fewer than 3 lines. A queue that is empty at its last line is never "growing", because no further lines
    are written about an empty queue.
    """
    at = seconds(settled())
    fitted = (
        of_kind(history, "queue")
        .groupBy("observer", "queue")
        .agg(
            F.max_by("depth", "ts").alias("depth"),
            F.max_by("bytes", "ts").alias("bytes"),
            F.max_by("oldest", "ts").alias("oldest_s"),
            F.max_by("consumers", "ts").alias("consumers"),
            F.avg("arrives").alias("arrives_per_s"),
            F.avg("leaves").alias("leaves_per_s"),
            F.max("depth").alias("depth_max"),
            F.count("*").alias("lines"),
            F.max("ts").alias("last_at"),
            (F.max(at) - F.min(at)).alias("_long"),
            *fit("_line", F.col("depth"), at),
        )
    )
    line = Line("_line")
    return fitted.select(
        "observer",
        "queue",
        "depth",
        "bytes",
        "oldest_s",
        "consumers",
        "arrives_per_s",
        "leaves_per_s",
        "depth_max",
        (3600 * line.slope).alias("growth_per_hour"),
        _verdict(line).alias("verdict"),
        "lines",
        "last_at",
    )


def _verdict(line: Line) -> Column:
    risen = line.slope * F.col("_long")
    matters = F.abs(risen) >= F.greatest(F.lit(1.0), MATTERS * F.col("depth_max"))
    return (
        F.when(F.coalesce(line.n, F.lit(0)) < ENOUGH, "unknown")
        .when(~line.significant | ~matters, "steady")
        .when(risen < 0, "draining")
        .when(F.col("depth") > 0, "growing")
        .otherwise("steady")
    )
