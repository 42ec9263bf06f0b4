"""How is a history read? As one table of all kinds, of which Spark opens only what is asked for."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from spark import compaction
from spark.connect import ServerFiles
from spark.errors import SparkJobError
from spark.files import Files, Reads, history_address, is_remote
from spark.lines import TABLE
from spark.moments import bounded

HISTORY = StructType(
    [StructField(field.name, IntegerType()) if field.name == "hour" else field for field in TABLE]
)


def history(
    session: SparkSession, place: str, since: datetime | None = None, until: datetime | None = None
) -> DataFrame:
    """All rows with since <= ts < until: COLUMNS, then segment, reason, raw, date and hour (UTC).

    A time that a history cannot hold, such as `datetime.min`, stands for its first or last moment.
    Bad lines have no ts: they count for the hour of their segment. Raises SparkJobError NO_HISTORY.
    """
    files = _files(session)
    where = found(files, place)
    rows = _whole(session, files, where)
    hour, ts = F.struct("date", "hour"), F.col("ts")
    if since:
        since = bounded(since)
        rows = rows.where((hour >= _hour(since)) & (ts.isNull() | (ts >= F.lit(since))))
    if until:
        until = bounded(until)
        rows = rows.where((hour <= _hour(until)) & (ts.isNull() | (ts < F.lit(until))))
    return rows


def found(files: Reads, place: str) -> str:
    """The address of a history. Raises SparkJobError NO_HISTORY when nothing was ever ingested there."""
    where = history_address(place)
    if not _is_there(files, where):
        raise SparkJobError(
            f"There is no history at {place}.",
            "Gather what the nodes wrote down first: mesh ingest, or mesh report without --no-ingest.",
            "NO_HISTORY",
        )
    return where


def exists(session: SparkSession, place: str) -> bool:
    """Return whether anything was ever ingested there."""
    return _is_there(_files(session), history_address(place))


def _files(session: SparkSession) -> Reads:
    return ServerFiles(session) if is_remote(session) else Files(session)


def _is_there(files: Reads, where: str) -> bool:
    return bool(files.find(where, "kind=*"))


def _whole(session: SparkSession, files: Reads, where: str) -> DataFrame:
    """The table, of one moment: what compaction moves while Spark is looking may be seen nowhere."""
    before = _Compaction.seen(files, where)
    while True:
        rows = _read(session, where)
        if before.plan:
            rows = _by_the_plan(session, where, rows, before.plan, before.moving)
        after = _Compaction.seen(files, where)
        if after == before:
            return rows
        before = after


@dataclass(frozen=True, slots=True)
class _Compaction:
    """The state of compaction: a plan that is in force, files it has not moved yet, the last plan done."""

    plan: compaction.Plan | None
    moving: list[str]
    done: str | None

    @classmethod
    def seen(cls, files: Reads, where: str) -> Self:
        plan = compaction.in_force(files, where)
        moving = files.find(f"{where}/{plan['beside']}", compaction.FILES) if plan else []
        return cls(plan, moving, files.read(f"{where}/{compaction.DONE}"))


def _by_the_plan(
    session: SparkSession, where: str, rows: DataFrame, plan: compaction.Plan, moving: list[str]
) -> DataFrame:
    """As it will be when compaction, which is at work or was killed, is done: no row is missing or twice."""
    # Where a move is a copy, a file may be in both places.
    passed = [f"{part}/{name}" for part, names in plan["old"].items() for name in names] + moving
    # With its part: files of several have one name, if one task wrote them.
    file = F.substring_index("_metadata.file_path", "/", -1 - compaction.FILES.count("/"))
    rows = rows.where(~file.isin(passed))
    return rows.unionByName(_read(session, f"{where}/{plan['beside']}")) if moving else rows


def _read(session: SparkSession, where: str) -> DataFrame:
    return session.read.schema(HISTORY).parquet(where)


def _hour(moment: datetime) -> Column:
    """That of a partition; `moment` is in UTC."""
    return F.struct(F.lit(moment.date()).alias("date"), F.lit(moment.hour).alias("hour"))
