"""How is a history read? As one table of all kinds, of which Spark opens only what is asked for."""

from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from spark import compaction
from spark.errors import SparkJobError
from spark.files import Files, address
from spark.lines import TABLE

HISTORY = StructType(
    [StructField(field.name, IntegerType()) if field.name == "hour" else field for field in TABLE]
)


def history(
    session: SparkSession, place: str, since: datetime | None = None, until: datetime | None = None
) -> DataFrame:
    """All rows with since <= ts < until: COLUMNS, then segment, reason, raw, date and hour (UTC).

    Bad lines have no ts: they count for the hour of their segment. Raises SparkJobError NO_HISTORY when
    nothing was ever ingested there.
    """
    where, files = address(place), Files(session)
    if not files.find(where, "kind=*"):
        raise SparkJobError(
            f"There is no history at {place}.",
            "Gather what the nodes wrote down first: mesh ingest, or mesh report without --no-ingest.",
            "NO_HISTORY",
        )
    rows = _read(session, where)
    if plan := compaction.in_force(files, where):
        rows = _by_the_plan(session, files, where, rows, plan)
    hour, ts = F.struct("date", "hour"), F.col("ts")
    if since:
        rows = rows.where((hour >= _hour(since)) & (ts.isNull() | (ts >= F.lit(since))))
    if until:
        rows = rows.where((hour <= _hour(until)) & (ts.isNull() | (ts < F.lit(until))))
    return rows


def _by_the_plan(
    session: SparkSession, files: Files, where: str, rows: DataFrame, plan: compaction.Plan
) -> DataFrame:
    """As it will be when compaction, which is at work or was killed, is done: no row is missing or twice."""
    new = f"{where}/{plan['beside']}"
    moving = files.find(new, compaction.FILES)  # where a move is a copy, a file may be in both places
    passed = [f"{part}/{name}" for part, names in plan["old"].items() for name in names] + moving
    # With its part: files of several have one name, if one task wrote them.
    file = F.substring_index("_metadata.file_path", "/", -1 - compaction.FILES.count("/"))
    rows = rows.where(~file.isin(passed))
    return rows.unionByName(_read(session, new)) if moving else rows


def _read(session: SparkSession, where: str) -> DataFrame:
    return session.read.schema(HISTORY).parquet(where)


def _hour(moment: datetime) -> Column:
    """That of a partition."""
    utc = moment.astimezone(UTC)
    return F.struct(F.lit(utc.date()).alias("date"), F.lit(utc.hour).alias("hour"))
