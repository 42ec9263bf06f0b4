"""Whose clock is wrong, and by how much?"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark.views.rows import TOLERANCE, later, named, of_kind

CLOSE_ENOUGH = 1000  # accuracy of percentiles: the rank is right to 1 in so many


def skews(history: DataFrame) -> DataFrame:
    """One row a node that others have links with: uuid, node, skew_s (how far its clock is ahead of the
    mesh's common time, which is the median of all clocks; for most of the history), observers (others that
    measured it)."""
    links = named(of_kind(history, "link")).where(F.col("skew").isNotNull())
    # The commonest of a pair, to a second: before a machine has asked for the time it may believe that it is
    # 1970, and no mean is of use.
    alike = links.groupBy("uuid", "observer_uuid", F.round("skew")).agg(
        F.avg("skew").alias("skew"), F.count("*").alias("lines"), F.max("node").alias("node")
    )
    pairs = alike.groupBy("uuid", "observer_uuid").agg(
        F.max_by("skew", F.struct("lines", "skew")).alias("skew"), F.max("node").alias("node")
    )
    # Itself it would find to be right. With that, this is its clock less the median of all clocks; without,
    # of three nodes the two whose clocks are right would seem wrong by half of what the third one's is.
    seen = F.sort_array(F.concat(F.collect_list("skew"), F.array(F.lit(0.0))))
    return (
        pairs.groupBy("uuid")
        .agg(F.max("node").alias("node"), seen.alias("seen"), F.count("*").alias("observers"))
        .select("uuid", "node", _median("seen").alias("skew_s"), "observers")
    )


def aligned(history: DataFrame, known_skews: DataFrame | None = None) -> DataFrame:
    """The history, with `ts` in the mesh's common time for nodes that are more than 2 s off: states by
    their owner's clock, other lines by their observer's. `known_skews`: what `skews` found, if that is at
    hand."""
    known = skews(history) if known_skews is None else known_skews
    wrong = known.where(F.abs("skew_s") > TOLERANCE).select(
        F.col("uuid").alias("_clock"), F.col("skew_s").alias("_skew")
    )
    whose = F.when(F.col("kind") == "state", F.col("uuid")).otherwise(F.col("observer_uuid"))
    put_right = F.coalesce(later(F.col("ts"), -F.col("_skew")), "ts")
    joined = history.join(F.broadcast(wrong), whose == F.col("_clock"), "left")
    return joined.withColumn("ts", put_right).select(history.columns)


def _median(ordered: str) -> Column:
    """Of an array that is in order."""
    values, size = F.col(ordered), F.size(ordered)
    lower = F.get(values, F.floor((size - 1) / 2).cast("int"))
    return (lower + F.get(values, F.floor(size / 2).cast("int"))) / 2
