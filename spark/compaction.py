"""How do many small files become few? Each batch adds some to each hour that it touches.

The rows of an hour are written anew beside the table. Then a plan is put down, of what goes and what takes
its place; and it is carried out, if need be by the next one who writes. A kill before the plan changes
nothing; one after it only delays. `spark.reading` reads by the plan; other programs may miss rows of one hour
in between, and never see any twice.

`check` is asked before each step, and raises when another writes to the history.
"""

import json
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TypedDict

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark.errors import SparkJobError
from spark.files import Files, Reads
from spark.lines import PARTITION

STAGE = "_compact"  # beside the partitions: Spark passes over what begins with _
PLAN = f"{STAGE}/plan.json"
DONE = "_compacted"  # says which plan was the last one: so a reader sees that there was one meanwhile
FEW = 4  # files of an hour that may stay as they are
AT_ONCE = 500  # hours in one plan
FILES = "kind=*/date=*/hour=*/*.parquet"

Parts = Mapping[str, list[str]]  # "kind=state/date=2026-11-21/hour=09" -> names of its files


class Plan(TypedDict):
    """A compaction: what goes, and what takes its place, which lies in `beside` until it is moved."""

    old: Parts
    new: Parts
    beside: str


def compact(
    session: SparkSession, files: Files, to: str, check: Callable[[], None], now: datetime | None = None
) -> int:
    """All hours that are over at `now` and have more than a FEW files. Returns how many files are fewer."""
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
    """The files of each hour."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in files.find(place, FILES):
        part, _, name = path.rpartition("/")
        found[part].append(name)
    return dict(found)


def rewrite(session: SparkSession, files: Files, to: str, chosen: Parts) -> str:
    """First step: the same rows, in order, in few files beside the table. Returns where."""
    files.remove(f"{to}/{STAGE}")
    # The JVM of a writer that was killed may go on for a moment: it shall not write where we do.
    beside = f"{STAGE}/{uuid.uuid4().hex}"
    paths = [f"{to}/{part}/{name}" for part, names in chosen.items() for name in names]
    # With all columns that any of them has: a newer release may have written more than this one knows.
    rows = session.read.option("mergeSchema", "true").option("basePath", to).parquet(*paths)
    writer = _ordered(rows).write.option("compression", "zstd")
    writer.partitionBy(*PARTITION).parquet(f"{to}/{beside}")
    before, after = rows.count(), session.read.parquet(f"{to}/{beside}").count()
    if before != after:
        raise _refused(f"{before} rows of {to} would become {after}")
    return beside


def _refused(why: str) -> SparkJobError:
    hint = "Should this come again, files of the history may be damaged: tell us."
    return SparkJobError(f"{why}: nothing was changed.", hint, "COMPACTION")


def _ordered(rows: DataFrame) -> DataFrame:
    """The rows with those of an hour together. Two digits of the hour, which Spark has read as a number."""
    named = rows.withColumn("hour", F.lpad(F.col("hour").cast("string"), 2, "0"))
    return named.repartition(*PARTITION).sortWithinPartitions(*PARTITION, "uuid", "ts")


def plan(files: Files, to: str, chosen: Parts, beside: str) -> Parts:
    """Second step: put down what goes and what takes its place. From now on it will be done."""
    new = parts(files, f"{to}/{beside}")
    if missing := sorted(chosen.keys() - new.keys()):
        raise _refused(f"Of what was to replace {to}/{missing[0]} nothing is there")
    files.settle(to, (f"{beside}/{part}/{name}" for part, names in new.items() for name in names))
    files.replace(f"{to}/{PLAN}", json.dumps(Plan(old=chosen, new=new, beside=beside)))
    return new


def in_force(files: Reads, to: str) -> Plan | None:
    """The plan that is carried out now, or was to be when its writer was killed."""
    text = files.read(f"{to}/{PLAN}")
    if text is None:
        return None
    try:
        read = json.loads(text)
        return Plan(old=read["old"], new=read["new"], beside=read["beside"])
    except (ValueError, TypeError, KeyError) as error:
        raise SparkJobError(
            f"{to}/{PLAN} is damaged. It said which files take the place of which others.",
            f"Move {to}/{STAGE} to another place, delete {to}/_checkpoint, and ingest again: all segments "
            "that are still there are read once more. Rows of others may be only in what you have moved.",
            "DAMAGED_PLAN",
        ) from error


def finish(files: Files, to: str, check: Callable[[], None]) -> None:
    """Third step: carry out the plan, if there is one; it may have been done in part."""
    planned = in_force(files, to)
    if planned:
        for part, names in planned["old"].items():
            check()
            for name in names:
                files.remove(f"{to}/{part}/{name}")
            # One that is not there any more was moved already; where a move is a copy, it may be in both.
            source, target = f"{to}/{planned['beside']}/{part}", f"{to}/{part}"
            there, moved = set(files.find(source, "*")), set(files.find(target, "*"))
            for name in planned["new"].get(part, []):
                if name in there - moved:
                    files.move(f"{source}/{name}", f"{target}/{name}")
        check()
        files.replace(f"{to}/{DONE}", planned["beside"])
    files.remove(f"{to}/{STAGE}")


def _is_over(part: str, now: datetime) -> bool:
    fields = dict(field.split("=", 1) for field in part.split("/"))
    try:
        hour = datetime.fromisoformat(f"{fields['date']}T{fields['hour']}:00:00+00:00")
    except (KeyError, ValueError):
        return False  # not ours
    return hour != now.replace(minute=0, second=0, microsecond=0)
