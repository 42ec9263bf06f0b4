"""Which rows of the history does a view read, and how does it reckon with them?"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

SETTLED = 1_577_836_800  # 2020-01-01 in UTC, s since 1970: an earlier clock is one that was not set yet
TOLERANCE = 2.0  # s: clocks that are no more than this apart count as equal


def of_kind(history: DataFrame, *kinds: str) -> DataFrame:
    """Lines of these kinds; other partitions are not read."""
    return history.where(F.col("kind").isin(*kinds))


def named(frame: DataFrame) -> DataFrame:
    """Rows about a node of which it is known which one it is."""
    return frame.where((F.col("uuid") != "") & F.col("node").isNotNull())


def seconds(timestamp: str | Column) -> Column:
    """s since 1970, with their fraction."""
    return F.col(timestamp).cast("double") if isinstance(timestamp, str) else timestamp.cast("double")


def settled(timestamp: str | Column = "ts") -> Column:
    """That moment; null by a clock that was not set yet, as a machine's may be until it has asked for the
    time."""
    moment = F.col(timestamp) if isinstance(timestamp, str) else timestamp
    return F.when(moment >= F.timestamp_seconds(F.lit(SETTLED)), moment)


def later(timestamp: Column, by: Column) -> Column:
    """That moment and so many s more."""
    return F.timestamp_micros(F.unix_micros(timestamp) + F.round(by * 1e6).cast("long"))


def ratio(part: Column, whole: Column) -> Column:
    """part / whole; null where there is no whole."""
    return F.when(whole > 0, part / whole)


def newest(frame: DataFrame, last_at: str = "last_at") -> DataFrame:
    """Of several nodes that had one name, one after the other, the one that had it last."""
    order = Window.partitionBy("node").orderBy(F.col(last_at).desc_nulls_last(), "uuid")
    return frame.withColumn("_place", F.row_number().over(order)).where(F.col("_place") == 1).drop("_place")


def episodes(events: DataFrame, gap: float) -> DataFrame:
    """With a column `episode`: what several observers say of one (event, uuid, boot) is one and the same,
    as long as no more than `gap` s lie between one of them and the next."""
    order = Window.partitionBy("event", "uuid", "boot").orderBy("ts")
    pause = seconds("ts") - seconds(F.lag("ts").over(order))
    begins = F.when(pause <= gap, 0).otherwise(1)
    return (
        events.withColumn("_begins", begins)
        .withColumn("episode", F.sum("_begins").over(order))
        .drop("_begins")
    )
