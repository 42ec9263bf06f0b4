"""View of the capacity of nodes, and of the times when nodes will be full."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from mesh.history.views.regression import Line, fit
from mesh.history.views.rows import named, of_kind, seconds, settled

# Seconds of one point: means vary less than single states.
POINT = 10
ENOUGH = 30  # points
EXPLAINED = 0.5  # r2 below which load does not depend on messages
FAR = 10  # limit of a forecast, times the length of the history


def capacity(history: DataFrame) -> DataFrame:
    """Return the capacity of each node, and the time when it will be full, one row per node.

    Columns: node, uuid, points (of 10 s), rate_per_s (mean of published and delivered messages), load_share
    (mean), r2; capacity_per_s (messages at which the load would be 1, by linear extrapolation),
    capacity_low_per_s, capacity_high_per_s (95 %), or null and a `reason`; full_at, full_first_at,
    full_last_at (when the trend of the load reaches 1, and its 95 % interval), null if past, uncertain or too
    far off.
    """
    points, at = _points(history), seconds(settled("_at"))
    fitted = points.groupBy("node", "uuid").agg(
        F.count("*").alias("points"),
        F.avg("_rate").alias("rate_per_s"),
        F.avg("_load").alias("load_share"),
        F.min(at).alias("_first"),
        F.max(at).alias("_last"),
        *fit("_work", F.col("_load"), F.col("_rate")),
        *fit("_trend", F.col("_load"), at),
    )
    work = Line("_work")
    full, reason = work.crossing(1.0), _reason(work)
    told = {
        "r2": work.r2,
        "reason": reason,
        "capacity_per_s": F.when(reason.isNull(), full.x),
        "capacity_low_per_s": F.when(reason.isNull(), F.greatest(F.lit(0.0), full.low)),
        "capacity_high_per_s": F.when(reason.isNull(), full.high),
    }
    return fitted.withColumns(told | _full()).select(
        "node", "uuid", "points", "rate_per_s", "load_share", "r2", "capacity_per_s", "capacity_low_per_s",
        "capacity_high_per_s", "reason", "full_at", "full_first_at", "full_last_at",
    )  # fmt: skip


def _points(history: DataFrame) -> DataFrame:
    """Return the means of load and rate, for each node and each 10 s."""
    moment = F.unix_seconds("ts")
    states = named(of_kind(history, "state")).where(F.col("load").isNotNull())
    rate = F.coalesce("published", F.lit(0.0)) + F.coalesce("delivered", F.lit(0.0))
    at = F.timestamp_seconds(moment - F.pmod(moment, F.lit(POINT))).alias("_at")
    return states.groupBy("node", "uuid", at).agg(F.avg("load").alias("_load"), F.avg(rate).alias("_rate"))


def _reason(work: Line) -> Column:
    return (
        F.when(work.n < ENOUGH, F.format_string(f"only %d of {ENOUGH} points of {POINT} s", work.n))
        .when(work.spread == 0, F.lit("the number of messages never changed"))
        .when(work.slope <= 0, F.lit("its load does not depend on its messages"))
        .when(
            work.r2 < EXPLAINED,
            F.format_string("its messages explain only %.0f %% of its load", 100 * work.r2),
        )
        .when(work.at(F.lit(0.0)) >= 1, F.lit("its load reaches 1 without messages"))
    )


def _full() -> dict[str, Column]:
    """Return the columns of the time when the trend reaches 1, by name.

    A column is null if there are too few points, if the load does not rise significantly, or if the time is
    past or more than FAR times the length of the history ahead.
    """
    trend = Line("_trend")
    full, last = trend.crossing(1.0), F.col("_last")
    horizon = last + FAR * (last - F.col("_first"))
    comes = (trend.n >= ENOUGH) & trend.significant & (full.x > last) & (full.x <= horizon)
    return {
        "full_at": F.when(comes, F.timestamp_seconds(full.x)),
        "full_first_at": F.when(comes, F.timestamp_seconds(F.greatest(full.low, last))),
        "full_last_at": F.when(comes & (full.high <= horizon), F.timestamp_seconds(full.high)),
    }
