"""Writes a batch of lines to the table so that no row is duplicated, even if the job is killed.

A batch is first written beside the table, where its duplicates are removed. Then its files are moved into the
table one by one. A repeated batch finds the moved rows in the table and adds the rest.

A stalled job may wake up while another job processes the same batch. Each job therefore first removes the
files beside the table, so that a stalled job has no files left to move. A batch without its files fails,
because it must not pass for a batch without new rows.
"""

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from mesh.history.errors import SparkJobError
from mesh.history.files import Files
from mesh.history.lines import PARTITION, QUARANTINE, TABLE, explained, rows, stored, unique, unknown

STAGE = "_ingest"  # Spark ignores names that begin with _
FILES = "kind=*/date=*/hour=*/*.parquet"
WRITTEN = "_SUCCESS"  # marker that Spark adds to its output on request
ASKED = "mapreduce.fileoutputcommitter.marksuccessfuljobs"


@dataclass(frozen=True, slots=True)
class Added:
    """The result of a batch: the numbers of new rows, bad lines and duplicate lines."""

    rows: int
    quarantined: int
    repeated: int


class Table:
    """Adds batches to the history at `place`, an address, as its only writer."""

    def __init__(self, session: SparkSession, files: Files, place: str) -> None:
        self._session, self._files, self._place = session, files, place
        # The JVM of a killed writer may continue for a moment, so each writer has a directory of its own.
        self._own = f"{place}/{STAGE}/{uuid.uuid4().hex}"
        self._new, self._beside = f"{self._own}/new", f"{self._own}/beside"

    def add(self, lines: DataFrame, check: Callable[[], None]) -> Added:
        """Add `lines`, whose columns are `value` (a line) and `path` (of its segment), and return the counts.

        `check` raises SparkJobError if this job has lost the lock of the history.
        """
        check()
        self._files.remove(f"{self._place}/{STAGE}")
        read = self._write_unique(lines)
        self._explain_bad()
        self._leave_out_known()
        counts = self._count()
        check()
        self._move_in()
        self._files.remove(self._own)
        good = sum(count for kind, count in counts.items() if kind != QUARANTINE)
        return Added(good, counts.get(QUARANTINE, 0), read - sum(counts.values()))

    def _write_unique(self, lines: DataFrame) -> int:
        """Write the unique rows of the batch, and return its number of lines."""
        counted = Observation()
        given = lines.observe(counted, F.count(F.lit(1)).alias("lines"))
        # For each hour, as many files as can be written at the same time.
        parts = self._session.sparkContext.defaultParallelism
        self._write(stored(unique(rows(given), parts)), self._new)
        return int(counted.get["lines"])

    def _explain_bad(self) -> None:
        bad = f"kind={QUARANTINE}"
        if self._files.find(self._new, bad):
            self._replace([bad], explained(self._read(self._new, [bad])))

    def _leave_out_known(self) -> None:
        touched = {file.rpartition("/")[0] for file in self._files.find(self._new, FILES)}
        there = sorted(part for part in touched if self._files.find(f"{self._place}/{part}", "*.parquet"))
        if there:
            new = self._read(self._new, there)
            self._replace(there, unknown(new, self._like(new, there)))

    def _like(self, new: DataFrame, parts: list[str]) -> DataFrame:
        """Return the table's rows in `parts` whose times are null, or between those of the rows `new`.

        Equal rows have equal times, so other files need not be read.
        """
        ends = new.agg(F.unix_micros(F.min("ts")), F.unix_micros(F.max("ts"))).head() or (None, None)
        first, last = (F.timestamp_micros(F.lit(end).cast("long")) for end in ends)
        return self._read(self._place, parts).where(F.col("ts").between(first, last) | F.col("ts").isNull())

    def _replace(self, parts: list[str], rows: DataFrame) -> None:
        self._write(rows, self._beside)
        for part in parts:
            self._files.remove(f"{self._new}/{part}")
        self._move(self._files.find(self._beside, FILES), self._beside, self._new)
        self._files.remove(self._beside)

    def _count(self) -> dict[str, int]:
        """Return the number of rows by kind, which Parquet stores in each file."""
        if not self._files.find(self._new, FILES):
            return {}
        return {
            row["kind"]: row["count"] for row in self._read(self._new, []).groupBy("kind").count().collect()
        }

    def _move_in(self) -> None:
        found = self._files.find(self._new, FILES)
        if not self._files.exists(f"{self._new}/{WRITTEN}"):
            raise SparkJobError(
                f"{self._own}, a part of the history in preparation, was removed by another job or by hand.",
                "No data is lost or duplicated. Start the job again when no other job writes there.",
                "LOCK_LOST",
            )
        self._move(found, self._new, self._place)
        self._files.settle(self._place, found)

    def _move(self, files: Iterable[str], source: str, target: str) -> None:
        for file in files:
            self._files.move(f"{source}/{file}", f"{target}/{file}")

    def _read(self, place: str, parts: list[str]) -> DataFrame:
        paths = [f"{place}/{part}" for part in parts] or [place]
        return self._session.read.schema(TABLE).option("basePath", place).parquet(*paths)

    def _write(self, rows: DataFrame, place: str) -> None:
        writer = rows.write.option("compression", "zstd").option(ASKED, "true")
        writer.partitionBy(*PARTITION).parquet(place)
