"""View of the busiest topics."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from mesh.history.views import counting
from mesh.history.views.rows import ratio, seconds


def busiest(history: DataFrame, n: int = 20) -> DataFrame:
    """Return the n busiest topics, one row per domain and topic, the busiest first.

    Columns: domain, topic, messages, messages_per_s (over the time in which its masters wrote lines about
    topics), bytes (of content), masters (nodes that accepted its messages).
    """
    totals = counting.totals(history, "topic", ("domain", "topic"), ("messages", "content"))
    boot = Window.partitionBy(*counting.BOOT)
    long = seconds(F.max("last_at").over(boot)) - seconds(F.min("first_at").over(boot))
    of_master = (
        totals.withColumn("_long", long)
        .groupBy("domain", "topic", "observer_uuid")
        .agg(counting.within("messages"), counting.within("content"), F.sum("_long").alias("_long"))
        .withColumn("_rate", ratio(F.col("messages"), F.col("_long")))
    )
    return (
        of_master.groupBy("domain", "topic")
        .agg(
            F.sum("messages").alias("messages"),
            F.sum("_rate").alias("messages_per_s"),
            F.sum("content").alias("bytes"),
            F.count_if(F.col("messages") > 0).alias("masters"),
        )
        .orderBy(F.desc("messages"), "domain", "topic")
        .limit(n)
    )
