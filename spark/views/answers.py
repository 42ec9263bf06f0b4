"""View of the response times of nodes."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from mesh.history.views import counting
from mesh.history.views.rows import of_kind, ratio

UNANSWERED = 2.0  # s that an unanswered read counts as
# Maximum age in half-lives, so that the weights of old values do not vanish.
OLDEST = 500


def latencies(history: DataFrame, known: DataFrame, half_life_s: float = 86_400.0) -> DataFrame:
    """Return the mean response time of each node, one row per node.

    Columns: node, answers, unanswered (reads), latency_ms (mean; an unanswered read counts as 2 s). In the
    mean, answers count half as much for each half-life of age. Only answers to other nodes count, because a
    node that asks itself uses no network. `known` is the result of `capacity.idle` with one row for each
    name; lines about an earlier node of that name do not count.
    """
    boot = Window.partitionBy(*counting.BOOT, "node").orderBy("line")
    lines = of_kind(history, "balance").where(F.col("observer") != F.col("node"))
    begun = lines.join(F.broadcast(counting.boots(history)), list(counting.BOOT), "left")
    whole = begun.withColumns({name: F.coalesce(name, F.lit(0)) for name in ("asked", "answered", "seconds")})
    # Reads since the previous line may be in transit. Of a boot that began before the history, the first line
    # cannot be interpreted.
    before = F.lag("asked").over(boot)
    at_first = F.when(F.col("started"), 0).otherwise(F.col("asked") - F.col("answered"))
    open_ = F.coalesce(F.greatest(F.lit(0), before - F.col("answered")), at_first)
    grown = whole.withColumn("open", open_).withColumns(
        {
            f"_{name}": F.col(name)
            - F.coalesce(F.lag(name).over(boot), F.when(F.col("started"), F.lit(0)), F.col(name))
            for name in ("answered", "seconds", "open")
        }
    )
    age = F.greatest(F.lit(0.0), F.unix_seconds(F.now()) - F.unix_seconds("ts"))
    worth = F.pow(F.lit(0.5), F.least(F.lit(OLDEST), age / half_life_s))
    unanswered = F.greatest(F.lit(0.0), F.sum(F.col("_open") * worth))
    took = F.sum(F.col("_seconds") * worth) + UNANSWERED * unanswered
    return (
        _of_known(grown, known)
        .groupBy("node")
        .agg(
            F.sum("_answered").alias("answers"),
            F.greatest(F.lit(0), F.sum("_open")).alias("unanswered"),
            (1000 * ratio(took, F.sum(F.col("_answered") * worth) + unanswered)).alias("latency_ms"),
        )
    )


def _of_known(lines: DataFrame, known: DataFrame) -> DataFrame:
    """Return the lines, without lines about other nodes that had the name of a node in `known`."""
    last = known.select("node", F.col("uuid").alias("_uuid"))
    joined = lines.join(F.broadcast(last), "node", "left")
    is_other = (F.col("uuid") != "") & (F.col("uuid") != F.col("_uuid"))
    return joined.where(~F.coalesce(is_other, F.lit(False)))
