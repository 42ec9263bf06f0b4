"""View of queues at several nodes: stranded and moved messages."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from mesh.history.views import counting
from mesh.history.views.rows import of_kind, ratio, seconds, settled

WIDTH = 10  # s in which each node writes about each queue
COUNTERS = ("moved_in", "moved_out")


def of_queues(history: DataFrame, n: int = 1000) -> DataFrame:
    """Return at most `n` rows, one for each queue that was at several nodes, or whose messages moved.

    The queues with the most moves come first. Columns: queue, parts (nodes that wrote lines about it), put
    (messages, estimated from the rates), moved (messages, by the counters of the receiving nodes),
    moved_share (of put), stranded_share (of the time in which messages were ready: some were at a node
    without a consumer, while another node had one), stranded_max (messages), starved_share (of the same time:
    messages waited at one node while consumers at another had more credit than work), starved_max (messages
    that these consumers could have received).
    """
    lines = of_kind(history, "queue").where(F.col("queue").startswith("queue/"))
    found = (
        _counted(history)
        .join(_waited(lines), "queue", "left")
        .join(_put(lines), "queue", "left")
        .where((F.col("parts") > 1) | (F.col("moved") > 0))
    )
    return (
        found.withColumn("moved_share", ratio(F.col("moved"), F.col("put")))
        .select(
            "queue", "parts", "put", "moved", "moved_share",
            "stranded_share", "stranded_max", "starved_share", "starved_max",
        )
        .orderBy(F.desc("moved"), F.desc("parts"), "queue")
        .limit(n)
    )  # fmt: skip


def _counted(history: DataFrame) -> DataFrame:
    counted = counting.totals(history, "queue", ("queue",), COUNTERS)
    counted = counted.where(F.col("queue").startswith("queue/"))
    parts = F.countDistinct("observer_uuid").alias("parts")
    return counted.groupBy("queue").agg(parts, counting.within("moved_in").alias("moved"))


def _put(lines: DataFrame) -> DataFrame:
    """Return the number of messages put into each queue, estimated from the mean rate of each node."""
    long = seconds(F.max(settled())) - seconds(F.min(settled()))
    of_node = lines.groupBy("queue", *counting.BOOT).agg((F.avg("arrives") * long).alias("put"))
    return of_node.groupBy("queue").agg(F.round(F.sum("put")).cast("long").alias("put"))


def _waited(lines: DataFrame) -> DataFrame:
    """Return the columns of stranded messages and starved consumers, one row for each queue.

    The queues are sampled every WIDTH seconds. Lines of releases that do not report ready messages are left
    out.
    """
    moment = F.unix_seconds("ts")
    of_part = (
        lines.where(F.col("ready").isNotNull())
        .withColumn("_at", moment - F.pmod(moment, F.lit(WIDTH)))
        .groupBy("queue", "_at", "observer_uuid")
        .agg(F.max_by(F.struct("ready", "wants", "consumers"), "ts").alias("_"))
        .select("queue", "_at", "_.*")
    )
    ready = F.col("ready")
    together = of_part.groupBy("queue", "_at").agg(
        F.sum("ready").alias("ready"),
        F.sum(F.when(F.col("consumers") == 0, ready).otherwise(0)).alias("_alone"),
        F.sum(F.when(F.col("wants") == 0, ready).otherwise(0)).alias("_spare"),
        F.sum("wants").alias("_wants"),
        F.sum("consumers").alias("_consumers"),
    )
    stranded = F.when(F.col("_consumers") > 0, F.col("_alone")).otherwise(0)
    starved = F.least("_spare", "_wants")
    return (
        together.where(ready > 0)
        .withColumns({"_stranded": stranded, "_starved": starved})
        .groupBy("queue")
        .agg(
            F.avg((F.col("_stranded") > 0).cast("double")).alias("stranded_share"),
            F.max("_stranded").alias("stranded_max"),
            F.avg((F.col("_starved") > 0).cast("double")).alias("starved_share"),
            F.max("_starved").alias("starved_max"),
        )
    )
