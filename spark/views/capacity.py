"""View of the machine capacity that is available to the mesh."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from mesh.history.views.forecast import EXPLAINED
from mesh.history.views.regression import Line, fit
from mesh.history.views.rows import named, of_kind

FULL = 0.01  # minimum for a fully busy machine


def idle(history: DataFrame) -> DataFrame:
    """Return the capacity of each node's machine that is available to the mesh, one row per node.

    Columns: node, uuid, states, last_at, load_share (mean), foreign_share (load that the mesh does not
    cause), idle_cores (cores that remain beside the foreign load).

    The foreign load is the load at no messages, on a line through (messages a second, load). The mean load
    would not do: a node with more messages would seem to have less capacity for them. If messages do not
    explain the load, all of it counts as foreign.
    """
    rate = F.coalesce("published", F.lit(0.0)) + F.coalesce("delivered", F.lit(0.0))
    line, mean = Line("_line"), F.col("load_share")
    said = named(of_kind(history, "state")).where(F.col("load").isNotNull())
    fitted = said.groupBy("node", "uuid").agg(
        F.count("*").alias("states"),
        F.max("ts").alias("last_at"),
        F.avg("load").alias("load_share"),
        F.max("cores").alias("_cores"),
        *fit("_line", F.col("load"), rate),
    )
    explained = line.significant & (line.slope > 0) & (line.r2 >= EXPLAINED)
    alone = F.greatest(F.lit(0.0), line.at(F.lit(0.0)))
    foreign = F.when(explained, F.least(mean, alone)).otherwise(mean)
    left = F.coalesce("_cores", F.lit(1)) * F.greatest(F.lit(FULL), 1 - F.col("foreign_share"))
    return (
        fitted.withColumn("foreign_share", foreign)
        .withColumn("idle_cores", left)
        .select("node", "uuid", "states", "last_at", "load_share", "foreign_share", "idle_cores")
    )
