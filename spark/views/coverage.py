"""Views of missing and unreadable data."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from mesh.history.views.rows import SETTLED, TOLERANCE, named, of_kind, seconds, settled

GAP = 30  # s without a state from which a gap is reported
WRITER = r"^(.+)-[0-9a-f]{8}-\d+-\d+\.jsonl$"  # in the name of a segment


def rows(history: DataFrame) -> DataFrame:
    """Return the completeness of each node's data, one row per node.

    Columns: node, uuid, boots (with states), states, states_lost (numbers that are missing between the first
    and the last state of a boot), first_at, last_at (states), gap_s (longest time without a state, by a clock
    that was set; null if it is below 30 s), gap_at (start of that gap), lines (of other kinds, which the node
    wrote), future (rows more than 2 s later than now), past (rows before 2020), both by `ts`.
    """
    told = _states(history).join(_lines(history), ["node", "uuid"], "full")
    counts = {name: F.coalesce(name, F.lit(0)) for name in ("boots", "states", "states_lost", "lines")}
    odd = {
        name: F.coalesce(f"_states_{name}", F.lit(0)) + F.coalesce(f"_lines_{name}", F.lit(0))
        for name in ("future", "past")
    }
    return told.withColumns(counts | odd).select(
        "node", "uuid", "boots", "states", "states_lost", "first_at", "last_at", "gap_s", "gap_at", "lines",
        "future", "past",
    )  # fmt: skip


def quarantined(history: DataFrame) -> DataFrame:
    """Return the numbers of unreadable lines, one row per reason and node.

    Columns: reason, node (that wrote the segment; null for a file that no node wrote), rows, segments,
    example (the text of one of the lines).
    """
    writer = F.regexp_extract("segment", WRITER, 1)
    return (
        of_kind(history, "quarantine")
        .groupBy("reason", F.when(writer != "", writer).alias("node"), "segment")
        .agg(F.count("*").alias("rows"), F.min("raw").alias("example"))
        .groupBy("reason", "node")
        .agg(
            F.sum("rows").alias("rows"),
            F.count("segment").alias("segments"),
            F.min("example").alias("example"),
        )
    )


def _states(history: DataFrame) -> DataFrame:
    """Return figures about the states of nodes, one row for each node and uuid."""
    missing = F.max("_newest") - F.min("_oldest") + 1 - F.sum("_versions")
    # The time from 1970 to the moment when a clock was set is no gap.
    before = settled(F.lag("_last").over(Window.partitionBy("uuid").orderBy("_span", "_first")))
    pause = seconds("_first") - seconds(before)
    boots = _spans(history).withColumn("_before", before).withColumn("_pause", F.when(pause >= GAP, pause))
    return (
        boots.groupBy("node", "uuid", "boot")
        .agg(
            F.sum("_rows").alias("_rows"),
            F.greatest(F.lit(0), F.coalesce(missing, F.lit(0))).alias("_lost"),
            F.min("_first").alias("_first"),
            F.max("_last").alias("_last"),
            F.max("_pause").alias("_pause"),
            F.max_by("_before", "_pause").alias("_before"),
            F.sum("_future").alias("_future"),
            F.sum("_past").alias("_past"),
        )
        .groupBy("node", "uuid")
        .agg(
            F.count("boot").alias("boots"),
            F.sum("_rows").alias("states"),
            F.sum("_lost").alias("states_lost"),
            F.min("_first").alias("first_at"),
            F.max("_last").alias("last_at"),
            F.max("_pause").alias("gap_s"),
            F.max_by("_before", "_pause").alias("gap_at"),
            F.sum("_future").alias("_states_future"),
            F.sum("_past").alias("_states_past"),
        )
    )


def _spans(history: DataFrame) -> DataFrame:
    """Return figures about the states of each node and boot, one row for each span of GAP seconds.

    A gap of GAP seconds or more always lies between two spans, and there are fewer spans than states.
    """
    span = F.floor(F.unix_seconds("ts") / GAP).alias("_span")
    return (
        named(of_kind(history, "state"))
        .groupBy("node", "uuid", "boot", span)
        .agg(
            F.count("*").alias("_rows"),
            F.count("version").alias("_versions"),
            F.min("version").alias("_oldest"),
            F.max("version").alias("_newest"),
            F.min("ts").alias("_first"),
            F.max("ts").alias("_last"),
            F.count_if(_is_future()).alias("_future"),
            F.count_if(_is_past()).alias("_past"),
        )
    )


def _lines(history: DataFrame) -> DataFrame:
    """Return figures about lines other than states, one row for each observer."""
    others = history.where(~F.col("kind").isin("state", "quarantine")).where(F.col("observer_uuid") != "")
    return others.groupBy(F.col("observer").alias("node"), F.col("observer_uuid").alias("uuid")).agg(
        F.count("*").alias("lines"),
        F.count_if(_is_future()).alias("_lines_future"),
        F.count_if(_is_past()).alias("_lines_past"),
    )


def _is_future() -> Column:
    return seconds("ts") > seconds(F.now()) + TOLERANCE


def _is_past() -> Column:
    return F.col("ts") < F.timestamp_seconds(F.lit(SETTLED))
