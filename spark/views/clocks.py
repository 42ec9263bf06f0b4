"""View of wrong clocks, and correction of times."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from mesh.history.views.rows import TOLERANCE, later, named, of_kind

CLOSE_ENOUGH = 1000  # inverse of the relative error of percentiles


def skews(history: DataFrame) -> DataFrame:
    """Return the error of each node's clock, one row per node that others have links to.

    Columns: uuid, node, skew_s (how far its clock is ahead of the median of all clocks, for most of the
    history), observers (nodes that measured it).
    """
    links = named(of_kind(history, "link")).where(F.col("skew").isNotNull())
    # The most frequent value of a pair, to a second. A mean is useless if a clock began in 1970.
    alike = links.groupBy("uuid", "observer_uuid", F.round("skew")).agg(
        F.avg("skew").alias("skew"), F.count("*").alias("lines"), F.max("node").alias("node")
    )
    pairs = alike.groupBy("uuid", "observer_uuid").agg(
        F.max_by("skew", F.struct("lines", "skew")).alias("skew"), F.max("node").alias("node")
    )
    # A node's skew to itself is 0. With that value, the median is the node's clock minus the median of all
    # clocks. Without it, of three nodes the two with right clocks would seem wrong by half the error of the
    # third.
    seen = F.sort_array(F.concat(F.collect_list("skew"), F.array(F.lit(0.0))))
    return (
        pairs.groupBy("uuid")
        .agg(F.max("node").alias("node"), seen.alias("seen"), F.count("*").alias("observers"))
        .select("uuid", "node", _median("seen").alias("skew_s"), "observers")
    )


def aligned(history: DataFrame, known_skews: DataFrame | None = None) -> DataFrame:
    """Return the history with `ts` in the mesh's common time for nodes that are more than 2 s off.

    States are corrected by their owner's clock, other lines by their observer's. `known_skews` is the result
    of `skews`, which is computed if it is None.
    """
    known = skews(history) if known_skews is None else known_skews
    wrong = known.where(F.abs("skew_s") > TOLERANCE).select(
        F.col("uuid").alias("_clock"), F.col("skew_s").alias("_skew")
    )
    whose = F.when(F.col("kind") == "state", F.col("uuid")).otherwise(F.col("observer_uuid"))
    put_right = F.coalesce(later(F.col("ts"), -F.col("_skew")), "ts")
    joined = history.join(F.broadcast(wrong), whose == F.col("_clock"), "left")
    return joined.withColumn("ts", put_right).select(history.columns)


def _median(ordered: str) -> Column:
    values, size = F.col(ordered), F.size(ordered)
    lower = F.get(values, F.floor((size - 1) / 2).cast("int"))
    return (lower + F.get(values, F.floor(size / 2).cast("int"))) / 2
