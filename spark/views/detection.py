"""View of the time until deaths were noticed."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from mesh.history.views.membership import timeline
from mesh.history.views.rows import TOLERANCE, episodes, named, of_kind, seconds

TOGETHER = 60.0  # s within which observers notice the same death


def times(history: DataFrame, lives: DataFrame | None = None) -> DataFrame:
    """Return how soon observers noticed deaths and goodbyes, one row each.

    Columns: how ("dead": an observer noticed it, "left": the node announced it), node, uuid, boot, last_at
    (its last state), first_observer, first_at, final_at (when the first and the last observer noticed it),
    first_s, final_s (from last_at until then), age_s (since the first observer's last contact, by its own
    clock), observers, lived_on (later states exist, so the node was not dead; last_at, first_s and final_s
    are null then).

    A node publishes its state every 2 s, so it may have lived up to 2 s after its last state. `lives` is the
    result of `membership.timeline`, which is computed if `lives` is None.
    """
    ends = named(of_kind(history, "event")).where(F.col("event").isin("dead", "left"))
    noticed = (
        episodes(ends, TOGETHER)
        .groupBy("event", "node", "uuid", "boot", "episode")
        .agg(
            F.min_by("observer", "ts").alias("first_observer"),
            F.min("ts").alias("first_at"),
            F.max("ts").alias("final_at"),
            F.min_by("age", "ts").alias("age_s"),
            F.size(F.collect_set("observer_uuid")).alias("observers"),
        )
    )
    boots = timeline(history) if lives is None else lives
    states = boots.select("uuid", "boot", F.col("state_at").alias("_last"))
    lived_on = F.coalesce(seconds("_last") > seconds("first_at") + TOLERANCE, F.lit(False))
    last = F.when(~lived_on, F.col("_last"))
    joined = noticed.join(states, ["uuid", "boot"], "left")
    return joined.select(
        F.col("event").alias("how"), "node", "uuid", "boot", last.alias("last_at"), "first_observer",
        "first_at", "final_at", _since(last, "first_at").alias("first_s"),
        _since(last, "final_at").alias("final_s"), "age_s", "observers", lived_on.alias("lived_on"),
    )  # fmt: skip


def _since(last: Column, noticed: str) -> Column:
    """Return the seconds from `last` to `noticed`, at least 0, because clocks differ slightly."""
    return F.when(last.isNotNull(), F.greatest(F.lit(0.0), seconds(noticed) - seconds(last)))
