"""Views of the distribution of work."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from mesh.history.views import counting
from mesh.history.views.capacity import idle
from mesh.history.views.rows import newest, of_kind, ratio

# Seconds in which an observer writes at least one line about each candidate.
MINUTE = 60
HARDLY = 0.001  # weight of a minute without choices
COUNTERS = ("sent", "chosen", "asked", "answered", "seconds")


def counters(history: DataFrame) -> DataFrame:
    """Return one row per observer, boot and candidate, counted since the boot began.

    Columns: observer, observer_uuid, observer_boot, node, sent, chosen (messages), asked, answered (reads),
    seconds (response times of all answers, added up), clean (the boot stopped cleanly, so the counts are
    final).
    """
    return counting.totals(history, "balance", ("node",), COUNTERS).select(
        "observer", *counting.BOOT, "node", *COUNTERS, F.col("stopped").alias("clean")
    )


def quality(history: DataFrame) -> DataFrame:
    """Return one row per observer and candidate, counted within the history.

    Columns: observer, observer_uuid, node, sent, chosen, sent_share, chosen_share (of all messages of this
    observer), answered, latency_ms (mean of the answers), capacity (idle cores, as in `capacity.idle`),
    capacity_share (of all candidates with lines: the mean over the minutes, weighted by the choices in
    each; a candidate without states counts as the typical one), sent_ratio, chosen_ratio (share /
    capacity_share: 1 is fair), sent_variation, chosen_variation (standard deviation of these ratios / their
    mean: 0 is fair; the same in all rows of an observer).
    """
    sums = counting.totals(history, "balance", ("node",), COUNTERS).groupBy(
        "observer", "observer_uuid", "node"
    )
    room = newest(idle(history)).select("node", F.col("idle_cores").alias("capacity"))
    shared = sums.agg(*map(counting.within, COUNTERS)).join(F.broadcast(room), "node", "left")
    all_of = Window.partitionBy("observer", "observer_uuid")
    typical = F.coalesce("capacity", F.median("capacity").over(all_of), F.lit(1.0))
    shares = _with_due(history, shared.withColumn("_room", typical)).withColumns(
        {
            "latency_ms": 1000 * ratio(F.col("seconds"), F.col("answered")),
            "capacity_share": ratio(F.col("_due"), F.sum("_due").over(all_of)),
            "sent_share": ratio(F.col("sent"), F.sum("sent").over(all_of)),
            "chosen_share": ratio(F.col("chosen"), F.sum("chosen").over(all_of)),
        }
    )
    return (
        shares.withColumn("sent_ratio", ratio(F.col("sent_share"), F.col("capacity_share")))
        .withColumn("chosen_ratio", ratio(F.col("chosen_share"), F.col("capacity_share")))
        .withColumn("sent_variation", _variation("sent_ratio"))
        .withColumn("chosen_variation", _variation("chosen_ratio"))
        .select(
            "observer", "observer_uuid", "node", "sent", "chosen", "sent_share", "chosen_share", "answered",
            "latency_ms", "capacity", "capacity_share", "sent_ratio", "chosen_ratio", "sent_variation",
            "chosen_variation",
        )
    )  # fmt: skip


def _with_due(history: DataFrame, candidates: DataFrame) -> DataFrame:
    """Return the candidates of each observer with `_due`: the choices due to each by its `_room`.

    An unreachable candidate cannot be chosen, and the observer writes no lines about it. The choices of each
    minute are therefore due only to the candidates with lines.
    """
    minute = F.floor(F.unix_seconds("ts") / MINUTE).alias("_minute")
    lines = of_kind(history, "balance").groupBy("observer", *counting.BOOT, minute, "node")
    told = lines.agg(F.coalesce(F.max("chosen") - F.min("chosen"), F.lit(0)).alias("_chosen"))
    there = Window.partitionBy("observer", *counting.BOOT, "_minute")
    choices = HARDLY + F.sum("_chosen").over(there)
    due = choices * ratio(F.col("_room"), F.sum("_room").over(there))
    rooms = told.join(candidates, ["observer", "observer_uuid", "node"]).withColumn("_due", due)
    return rooms.groupBy(*candidates.columns).agg(F.sum("_due").alias("_due"))


def _variation(of: str) -> Column:
    """Return the coefficient of variation of an observer's candidates; null for one candidate, or mean 0."""
    all_of = Window.partitionBy("observer", "observer_uuid")
    mean = F.avg(of).over(all_of)
    return F.when((F.count(of).over(all_of) > 1) & (mean > 0), F.stddev_pop(of).over(all_of) / mean)
