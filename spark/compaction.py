"""Compaction: merges the many small files that batches add to the hours of a history.

The rows of an hour are rewritten beside the table. Then a plan is stored, with the files to delete and their
replacements, and carried out, if necessary by the next writer. A kill before the plan is stored changes
nothing, and a later kill only delays the compaction. `mesh.history.reading` follows the plan. Other programs
may briefly miss rows of one hour, but never see duplicates.

`check` is called before each step, and raises SparkJobError if this job has lost the lock of the history.
"""

import json
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TypedDict

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from mesh.history.errors import SparkJobError
from mesh.history.files import Files, Reads
from mesh.history.lines import PARTITION

STAGE = "_compact"  # Spark ignores names that begin with _
PLAN = f"{STAGE}/plan.json"
# File with the name of the last finished plan, by which a reader detects a compaction in between.
DONE = "_compacted"
FEW = 4  # files of an hour that need no compaction
AT_ONCE = 500  # hours in one plan
FILES = "kind=*/date=*/hour=*/*.parquet"

Parts = Mapping[str, list[str]]  # hour directory: names of its files


class Plan(TypedDict):
    """A compaction: the files to delete, and their replacements, in `beside` until they are moved."""

    old: Parts
    new: Parts
    beside: str


def compact(
    session: SparkSession, files: Files, to: str, check: Callable[[], None], now: datetime | None = None
) -> int:
    """Compact all hours with more than FEW files, except the hour of `now`, by default the current time.

    Return the decrease in the number of files.
    """
    crowded = {part: names for part, names in parts(files, to).items() if len(names) > FEW}
    over = [part for part in sorted(crowded) if _is_over(part, now or datetime.now(UTC))]
    fewer = 0
    for first in range(0, len(over), AT_ONCE):
        chosen = {part: crowded[part] for part in over[first : first + AT_ONCE]}
        check()
        beside = rewrite(session, files, to, chosen)
        check()
        new = plan(files, to, chosen, beside)
        finish(files, to, check)
        fewer += sum(map(len, chosen.values())) - sum(map(len, new.values()))
    return fewer


def parts(files: Files, place: str) -> dict[str, list[str]]:
    """Return the names of the files in each hour directory."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in files.find(place, FILES):
        part, _, name = path.rpartition("/")
        found[part].append(name)
    return dict(found)


def rewrite(session: SparkSession, files: Files, to: str, chosen: Parts) -> str:
    """Write the rows of `chosen` to few files beside the table, in order (step 1).

    Return the directory of the new files, relative to `to`. Raises: SparkJobError COMPACTION.
    """
    files.remove(f"{to}/{STAGE}")
    # The JVM of a killed writer may continue for a moment, so each writer has a directory of its own.
    beside = f"{STAGE}/{uuid.uuid4().hex}"
    paths = [f"{to}/{part}/{name}" for part, names in chosen.items() for name in names]
    # Keep the columns of all files: a newer release may have written columns that this one does not know.
    rows = session.read.option("mergeSchema", "true").option("basePath", to).parquet(*paths)
    writer = _ordered(rows).write.option("compression", "zstd")
    writer.partitionBy(*PARTITION).parquet(f"{to}/{beside}")
    before, after = rows.count(), session.read.parquet(f"{to}/{beside}").count()
    if before != after:
        raise _refused(f"Files of {to} were not merged: {before} rows would become {after}")
    return beside


def _refused(why: str) -> SparkJobError:
    hint = "Start the job again. If the error recurs, files of the history may be damaged."
    return SparkJobError(f"{why}. The history is unchanged.", hint, "COMPACTION")


def _ordered(rows: DataFrame) -> DataFrame:
    """Return the rows grouped by PARTITION, and sorted by uuid and time in each group.

    Spark reads the hour as a number, but two digits are written.
    """
    named = rows.withColumn("hour", F.lpad(F.col("hour").cast("string"), 2, "0"))
    return named.repartition(*PARTITION).sortWithinPartitions(*PARTITION, "uuid", "ts")


def plan(files: Files, to: str, chosen: Parts, beside: str) -> Parts:
    """Store the plan, which this job or the next writer carries out (step 2).

    Return the new files of each hour. Raises: SparkJobError COMPACTION.
    """
    new = parts(files, f"{to}/{beside}")
    if missing := sorted(chosen.keys() - new.keys()):
        raise _refused(f"Files of {to} were not merged: the new files of {missing[0]} are missing")
    files.settle(to, (f"{beside}/{part}/{name}" for part, names in new.items() for name in names))
    files.replace_file(f"{to}/{PLAN}", json.dumps(Plan(old=chosen, new=new, beside=beside)))
    return new


def in_force(files: Reads, to: str) -> Plan | None:
    """Return the stored plan, or None. Raises: SparkJobError DAMAGED_PLAN.

    A writer is carrying out a stored plan, or was killed before it had finished.
    """
    text = files.read(f"{to}/{PLAN}")
    if text is None:
        return None
    try:
        read = json.loads(text)
        return Plan(old=read["old"], new=read["new"], beside=read["beside"])
    except (ValueError, TypeError, KeyError) as error:
        raise SparkJobError(
            f"{to}/{PLAN}, the record of which files replace others, is damaged.",
            f"Move {to}/{STAGE} elsewhere, delete {to}/_checkpoint, and ingest again: all "
            "segments that still exist are read once more. Rows of deleted segments may "
            "exist only in the moved directory.",
            "DAMAGED_PLAN",
        ) from error


def finish(files: Files, to: str, check: Callable[[], None]) -> None:
    """Carry out the stored plan, if there is one, and delete STAGE (step 3).

    The plan may be partly carried out already.
    """
    planned = in_force(files, to)
    if planned:
        for part, names in planned["old"].items():
            check()
            for name in names:
                files.remove(f"{to}/{part}/{name}")
            # A missing file was moved already. Where a move is a copy, a file may be in both places.
            source, target = f"{to}/{planned['beside']}/{part}", f"{to}/{part}"
            there, moved = set(files.find(source, "*")), set(files.find(target, "*"))
            for name in planned["new"].get(part, []):
                if name in there - moved:
                    files.move(f"{source}/{name}", f"{target}/{name}")
        check()
        files.replace_file(f"{to}/{DONE}", planned["beside"])
    files.remove(f"{to}/{STAGE}")


def _is_over(part: str, now: datetime) -> bool:
    fields = dict(field.split("=", 1) for field in part.split("/"))
    try:
        hour = datetime.fromisoformat(f"{fields['date']}T{fields['hour']}:00:00+00:00")
    except (KeyError, ValueError):
        return False  # foreign directory
    return hour != now.replace(minute=0, second=0, microsecond=0)
