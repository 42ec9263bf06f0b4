"""Reads a history as one table of all kinds; Spark opens only the needed partitions."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from mesh.history import compaction
from mesh.history.connect import ServerFiles
from mesh.history.errors import SparkJobError
from mesh.history.files import Files, Reads, history_address, is_remote
from mesh.history.lines import TABLE
from mesh.history.moments import bounded

HISTORY = StructType(
    [StructField(field.name, IntegerType()) if field.name == "hour" else field for field in TABLE]
)


def history(
    session: SparkSession, place: str, since: datetime | None = None, until: datetime | None = None
) -> DataFrame:
    """Return all rows with since <= ts < until. Raises: SparkJobError NO_HISTORY, BAD_PLACE, DAMAGED_PLAN.

    The columns are COLUMNS, segment, reason, raw, date and hour (UTC). A time before or after all times of a
    history, such as `datetime.min`, becomes FIRST or LAST of moments; None is no limit. Bad lines have no ts
    and belong to the hour of their segment.
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
    """Return the address of a history. Raises: SparkJobError BAD_PLACE, or NO_HISTORY if it is empty."""
    where = history_address(place)
    if not _is_there(files, where):
        raise SparkJobError(
            f"There is no history in {place}.",
            "Check the name, or gather snapshots first: mesh ingest, or mesh report without --no-ingest.",
            "NO_HISTORY",
        )
    return where


def exists(session: SparkSession, place: str) -> bool:
    return _is_there(_files(session), history_address(place))


def _files(session: SparkSession) -> Reads:
    return ServerFiles(session) if is_remote(session) else Files(session)


def _is_there(files: Reads, where: str) -> bool:
    return bool(files.find(where, "kind=*"))


def _whole(session: SparkSession, files: Reads, where: str) -> DataFrame:
    """Return the complete table as of one moment, even if a compaction moves files meanwhile."""
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
    """The state of compaction: the current plan, the files not yet moved, and the last finished plan."""

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
    """Return the rows as they will be after the current compaction, with none missing or duplicated."""
    # Where a move is a copy, a file may be in both places.
    passed = [f"{part}/{name}" for part, names in plan["old"].items() for name in names] + moving
    # The part is included, because files in several parts have the same name if one task wrote them.
    file = F.substring_index("_metadata.file_path", "/", -1 - compaction.FILES.count("/"))
    rows = rows.where(~file.isin(passed))
    return rows.unionByName(_read(session, f"{where}/{plan['beside']}")) if moving else rows


def _read(session: SparkSession, where: str) -> DataFrame:
    return session.read.schema(HISTORY).parquet(where)


def _hour(moment: datetime) -> Column:
    """Return the date and hour of the partition of `moment`, which is in UTC."""
    return F.struct(F.lit(moment.date()).alias("date"), F.lit(moment.hour).alias("hour"))
