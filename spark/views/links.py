"""View of links between nodes."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from mesh.history.views.clocks import CLOSE_ENOUGH
from mesh.history.views.rows import of_kind, ratio

LOGGED_IN = "logged in"
LOST = ": logged out"  # end of the event text of a lost link


def matrix(history: DataFrame) -> DataFrame:
    """Return the state and the round-trip times of links, one row per observer and node.

    Columns: observer, node, state (last), rtt_median_ms, rtt_p95_ms, logged_in_share (of the lines, which are
    written every 10 s), lines, lost (times that the link was lost), last_at (line).
    """
    is_link, text = F.col("kind") == "link", F.col("text")
    lost = (F.col("event") == "link") & text.endswith(LOST)
    rows = of_kind(history, "link", "event").where(F.col("node").isNotNull() & (is_link | lost))
    round_trips = F.percentile_approx("rtt", [0.5, 0.95], CLOSE_ENOUGH)
    lines = F.count_if(is_link)
    return (
        rows.groupBy("observer", "node")
        .agg(
            F.max_by("state", F.when(is_link, F.col("ts"))).alias("state"),
            round_trips.alias("_rtt"),
            lines.alias("lines"),
            ratio(F.count_if(is_link & (F.col("state") == LOGGED_IN)), lines).alias("logged_in_share"),
            F.count_if(~is_link).alias("lost"),
            F.max(F.when(is_link, F.col("ts"))).alias("last_at"),
        )
        .select(
            "observer",
            "node",
            "state",
            _rtt_ms(0).alias("rtt_median_ms"),
            _rtt_ms(1).alias("rtt_p95_ms"),
            "logged_in_share",
            "lines",
            "lost",
            "last_at",
        )
    )


def _rtt_ms(place: int) -> Column:
    return 1000 * F.get("_rtt", F.lit(place))
