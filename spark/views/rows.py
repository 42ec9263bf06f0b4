"""Common operations of views on rows of the history."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

# 2020-01-01 in UTC, s since 1970: an earlier clock was not set yet.
SETTLED = 1_577_836_800
TOLERANCE = 2.0  # s up to which clocks count as equal


def of_kind(history: DataFrame, *kinds: str) -> DataFrame:
    """Return the lines of the given kinds.

    Spark reads no other partitions.
    """
    return history.where(F.col("kind").isin(*kinds))


def named(frame: DataFrame) -> DataFrame:
    """Return the rows that have the name and the uuid of a node."""
    return frame.where((F.col("uuid") != "") & F.col("node").isNotNull())


def seconds(timestamp: str | Column) -> Column:
    """Return the seconds since 1970, with fraction."""
    return F.col(timestamp).cast("double") if isinstance(timestamp, str) else timestamp.cast("double")


def settled(timestamp: str | Column = "ts") -> Column:
    """Return the time, or null if the clock was not set yet."""
    moment = F.col(timestamp) if isinstance(timestamp, str) else timestamp
    return F.when(moment >= F.timestamp_seconds(F.lit(SETTLED)), moment)


def later(timestamp: Column, by: Column) -> Column:
    return F.timestamp_micros(F.unix_micros(timestamp) + F.round(by * 1e6).cast("long"))


def ratio(part: Column, whole: Column) -> Column:
    """Return part / whole, or null unless `whole` is above 0."""
    return F.when(whole > 0, part / whole)


def newest(frame: DataFrame, last_at: str = "last_at") -> DataFrame:
    """Return one row for each name: the row of the node that last had it."""
    order = Window.partitionBy("node").orderBy(F.col(last_at).desc_nulls_last(), "uuid")
    return frame.withColumn("_place", F.row_number().over(order)).where(F.col("_place") == 1).drop("_place")


def episodes(events: DataFrame, gap: float) -> DataFrame:
    """Return the events with a column `episode`, numbered from 1 for each (event, uuid, boot).

    Reports about one (event, uuid, boot) are one episode, as long as there are at most `gap` s between
    consecutive ones.
    """
    order = Window.partitionBy("event", "uuid", "boot").orderBy("ts")
    pause = seconds("ts") - seconds(F.lag("ts").over(order))
    begins = F.when(pause <= gap, 0).otherwise(1)
    return (
        events.withColumn("_begins", begins)
        .withColumn("episode", F.sum("_begins").over(order))
        .drop("_begins")
    )
