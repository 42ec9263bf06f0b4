"""How do many small files become few? Each batch adds some to each hour that it touches.

The rows of an hour are written anew beside the table. Then a plan is put down, of what goes and what takes
its place; and it is carried out, if need be by the next one who writes. A kill before the plan changes
nothing; one after it only delays. `spark.reading` reads by the plan; other programs may miss rows of one hour
in between, and never see any twice.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark.errors import SparkJobError
from spark.files import Files
from spark.lines import PARTITION

STAGE = "_compact"  # beside the partitions: Spark passes over what begins with _
NEW = f"{STAGE}/new"
PLAN = f"{STAGE}/plan.json"
FEW = 4  # files of an hour that may stay as they are
AT_ONCE = 500  # hours in one plan
ROWS = 4_000_000  # in one file, at most
FILES = "kind=*/date=*/hour=*/*.parquet"

Parts = Mapping[str, list[str]]  # "kind=state/date=2026-11-21/hour=09" -> names of its files
Plan = Mapping[Literal["old", "new"], Parts]


def compact(session: SparkSession, files: Files, to: str, now: datetime | None = None) -> int:
    """All hours that are over at `now` and have more than a FEW files. Returns how many files are fewer."""
    crowded = {part: names for part, names in parts(files, to).items() if len(names) > FEW}
    over = [part for part in sorted(crowded) if _is_over(part, now or datetime.now(UTC))]
    fewer = 0
    for first in range(0, len(over), AT_ONCE):
        chosen = {part: crowded[part] for part in over[first : first + AT_ONCE]}
        rewrite(session, files, to, chosen)
        new = plan(files, to, chosen)
        finish(files, to)
        fewer += sum(map(len, chosen.values())) - sum(map(len, new.values()))
    return fewer


def parts(files: Files, place: str) -> dict[str, list[str]]:
    """The files of each hour."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in files.find(place, FILES):
        part, _, name = path.rpartition("/")
        found[part].append(name)
    return dict(found)


def rewrite(session: SparkSession, files: Files, to: str, chosen: Parts) -> None:
    """First step: the same rows, in order, in few files beside the table."""
    files.remove(f"{to}/{STAGE}")
    paths = [f"{to}/{part}/{name}" for part, names in chosen.items() for name in names]
    # With all columns that any of them has: a newer release may have written more than this one knows.
    rows = session.read.option("mergeSchema", "true").option("basePath", to).parquet(*paths)
    ordered = (
        rows.withColumn("hour", F.lpad(F.col("hour").cast("string"), 2, "0"))
        .repartition(*PARTITION)
        .sortWithinPartitions(*PARTITION, "uuid", "ts")
    )
    writer = ordered.write.option("compression", "zstd").option("maxRecordsPerFile", ROWS)
    writer.partitionBy(*PARTITION).parquet(f"{to}/{NEW}")
    before, after = rows.count(), session.read.parquet(f"{to}/{NEW}").count()
    if before != after:
        raise SparkJobError(
            f"{before} rows of {to} would become {after}: nothing was changed.",
            "Should this come again, files of the history may be damaged: tell us.",
            "COMPACTION",
        )


def plan(files: Files, to: str, chosen: Parts) -> Parts:
    """Second step: put down what goes and what takes its place. From now on it will be done."""
    new = parts(files, f"{to}/{NEW}")
    files.settle(f"{to}/{NEW}", (f"{part}/{name}" for part, names in new.items() for name in names))
    files.replace(f"{to}/{PLAN}", json.dumps({"old": dict(chosen), "new": new}))
    return new


def in_force(files: Files, to: str) -> Plan | None:
    """The plan that is carried out now, or was to be when its writer was killed."""
    text = files.read(f"{to}/{PLAN}")
    return json.loads(text) if text else None


def finish(files: Files, to: str) -> None:
    """Third step: carry out the plan, if there is one; it may have been done in part."""
    planned = in_force(files, to)
    if planned:
        for part, names in planned["old"].items():
            for name in names:
                files.remove(f"{to}/{part}/{name}")
            # One that is not there any more was moved already.
            there = set(files.find(f"{to}/{NEW}/{part}", "*"))
            for name in planned["new"].get(part, []):
                if name in there:
                    files.move(f"{to}/{NEW}/{part}/{name}", f"{to}/{part}/{name}")
    files.remove(f"{to}/{STAGE}")


def _is_over(part: str, now: datetime) -> bool:
    fields = dict(field.split("=", 1) for field in part.split("/"))
    try:
        hour = datetime.fromisoformat(f"{fields['date']}T{int(fields['hour']):02}:00:00+00:00")
    except (KeyError, ValueError):
        return False  # not ours
    return hour != now.replace(minute=0, second=0, microsecond=0)
