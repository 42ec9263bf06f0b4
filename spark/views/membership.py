"""Views of the membership of nodes over time."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from mesh.history.views.rows import TOLERANCE, episodes, named, of_kind, ratio, seconds, settled

OF_ITSELF = ("started", "stopped")  # events of the observer itself
OF_OTHERS = ("joined", "restarted", "alive", "suspect", "dead", "left")
# Seconds without a sign of life at the end of the history after which a node is gone.
SILENT = 60.0
TOGETHER = 10.0  # s within which observers notice the same event


def timeline(history: DataFrame) -> DataFrame:
    """Return the lives of all nodes, one row per node and boot.

    Columns: node, uuid, boot, first_at, last_at (signs of life, by clocks that were set if there are any),
    state_at (last state), up_s (its uptime then), seen_s (of that, in the history), states, ended, ended_at.

    `ended` is "stopped" (cleanly, by its own event), "left" (it said goodbye), "dead" (others declared it
    dead), "replaced" (by its next boot, without a goodbye), "silent" (last seen more than 60 s before the
    end of the history) or "there" (still; ended_at is null). A later sign of life cancels "left" and "dead".
    """
    event, is_state = F.col("event"), F.col("kind") == "state"
    alive = is_state | event.isin("started", "stopped", "joined", "restarted", "alive")
    seen = (
        _rows(history)
        .groupBy("node", "uuid", "boot")
        .agg(
            F.coalesce(F.min(F.when(alive, settled())), F.min(settled()), F.min("ts")).alias("first_at"),
            F.coalesce(F.max(F.when(alive, settled())), F.min(settled()), F.max("ts")).alias("last_at"),
            F.max(F.when(is_state, F.col("ts"))).alias("state_at"),
            F.max("up").alias("up_s"),
            F.coalesce(F.max("up") - F.min("up"), F.lit(0.0)).alias("seen_s"),
            F.count_if(is_state).alias("states"),
            *(
                F.max(F.when(event == end, F.col("ts"))).alias(f"_{end}")
                for end in ("stopped", "left", "dead")
            ),
        )
    )
    ended = _ended()
    at = (
        F.when(ended == "stopped", F.col("_stopped"))
        .when(ended == "left", F.col("_left"))
        .when(ended == "dead", F.col("_dead"))
        .when(ended != "there", F.col("last_at"))
    )
    return seen.select(
        "node",
        "uuid",
        "boot",
        "first_at",
        "last_at",
        "state_at",
        "up_s",
        "seen_s",
        "states",
        ended.alias("ended"),
        at.alias("ended_at"),
    )


def flapping(history: DataFrame, lives: DataFrame | None = None) -> DataFrame:
    """Return the state changes of each node, one row per node.

    Columns: node, uuid, suspicions, refutations, deaths (each once, for any number of observers), restarts,
    seen_hours (hours of its life that are in the history), changes_per_hour (sum of these counts; null if
    seen_hours is 0).
    """
    kinds = {"suspect": "suspicions", "alive": "refutations", "dead": "deaths"}
    noticed = named(of_kind(history, "event")).where(F.col("event").isin(*kinds))
    counts = (
        episodes(noticed, TOGETHER)
        .groupBy("uuid", "boot", "event")
        .agg(F.max("episode").alias("times"))
        .groupBy("uuid")
        .agg(
            *(
                F.sum(F.when(F.col("event") == kind, F.col("times"))).alias(name)
                for kind, name in kinds.items()
            )
        )
    )
    boots = timeline(history) if lives is None else lives
    nodes = boots.groupBy("node", "uuid").agg(
        (F.count("boot") - 1).alias("restarts"), (F.sum("seen_s") / 3600).alias("seen_hours")
    )
    joined = nodes.join(F.broadcast(counts), "uuid", "left")
    whole = joined.withColumns({name: F.coalesce(name, F.lit(0)) for name in kinds.values()})
    changes = F.col("suspicions") + F.col("refutations") + F.col("deaths") + F.col("restarts")
    return whole.select(
        "node",
        "uuid",
        "suspicions",
        "refutations",
        "deaths",
        "restarts",
        "seen_hours",
        ratio(changes, F.col("seen_hours")).alias("changes_per_hour"),
    )


def _rows(history: DataFrame) -> DataFrame:
    """Return states and events of nodes.

    Starts and stops are events of the observer about itself.
    """
    said = of_kind(history, "state", "event").where(
        (F.col("kind") == "state") | F.col("event").isin(*OF_ITSELF, *OF_OTHERS)
    )
    itself = (F.col("kind") == "event") & F.col("event").isin(*OF_ITSELF)
    about = said.withColumns(
        {
            "node": F.when(itself, F.col("observer")).otherwise(F.col("node")),
            "uuid": F.when(itself, F.col("observer_uuid")).otherwise(F.col("uuid")),
            "boot": F.when(itself, F.col("observer_boot")).otherwise(F.col("boot")),
        }
    )
    return named(about)


def _ended() -> Column:
    everywhere = Window.partitionBy(F.lit(0))
    past = F.when(F.col("last_at") <= F.now(), F.col("last_at"))
    end = F.coalesce(F.max(past).over(everywhere), F.max("last_at").over(everywhere))
    last_boot = F.max("boot").over(Window.partitionBy("uuid"))
    return (
        F.when(F.col("_stopped").isNotNull(), F.lit("stopped"))
        .when(_final("_left"), F.lit("left"))
        .when(_final("_dead"), F.lit("dead"))
        .when(F.col("boot") < last_boot, F.lit("replaced"))
        .when(seconds("last_at") < seconds(end) - SILENT, F.lit("silent"))
        .otherwise(F.lit("there"))
    )


def _final(end: str) -> Column:
    return F.coalesce(seconds(end) + TOLERANCE >= seconds("last_at"), F.lit(False))
