"""How do the segments get into the history? A stream of each place, whose checkpoint knows what was read.

Spark's "continuous" mode reads no files, and has no batches that could be made unique. So a stream that goes
on is one of small batches, too.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark import marker
from spark.batch import Added, Table
from spark.compaction import compact, finish
from spark.errors import SparkJobError
from spark.failures import explained
from spark.files import Files, address
from spark.lock import Lock, locked

BATCH = 1024  # MiB of segments in one batch, about
CHECKPOINT = "_checkpoint"
LOOK = 0.2  # s between two looks at whether a stream has ended, or somebody wants it to
ANY_AGE = "36500d"  # Spark would pass over files that are a week older than the newest one


@dataclass(frozen=True, slots=True)
class Ingested:
    """What an ingest has brought: rows that are new, lines that were there or came twice, bad ones (rows of
    the quarantine), segments read, and the seconds that all took."""

    rows: int = 0
    repeated: int = 0
    quarantined: int = 0
    segments: int = 0
    seconds: float = 0.0


class Ingest:
    """Reads all `sources` into the history at `to`; places are paths or addresses. `tell` says a sentence.

    `stop()`, from any thread, ends it after the batch at hand.
    """

    def __init__(
        self, session: SparkSession, sources: Sequence[str], to: str, *, batch: int = BATCH,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:  # fmt: skip
        self._session, self._batch, self._tell = session, batch, tell
        self._files = Files(session)
        self._sources = list(dict.fromkeys(map(address, sources)))
        self._to = address(to)
        self._table = Table(session, self._files, self._to)
        self._busy = threading.Lock()  # one batch at a time, whatever stream it is of
        self._stopping = threading.Event()
        self._failed: SparkJobError | None = None
        self._deaf: set[str] = set()  # sources whose marker cannot be written
        self._sum = Ingested()

    def stop(self) -> None:
        """Finish the batch at hand, then end."""
        self._stopping.set()

    def once(self) -> Ingested:
        """Read what is there; then make few files of many. Raises SparkJobError."""
        began = time.monotonic()
        with self._writing() as lock:
            for source in self._there():
                if not self._stopping.is_set():
                    self._until_ended([self._start(source, lock, None)])
            if not self._stopping.is_set():
                compact(self._session, self._files, self._to)
        return self._result(began)

    def again_and_again(self, every: float) -> Ingested:
        """Read what comes, every so many seconds, until `stop()`. Raises SparkJobError."""
        began = time.monotonic()
        with self._writing() as lock:
            self._until_ended([self._start(source, lock, every) for source in self._there()])
        return self._result(began)

    @contextmanager
    def _writing(self) -> Iterator[Lock]:
        try:
            with locked(self._files, self._to) as lock:
                finish(self._files, self._to)
                yield lock
        except (PySparkException, Py4JJavaError) as error:
            raise self._failed or explained(error, self._to) from error

    def _there(self) -> list[str]:
        found = [source for source in self._sources if self._files.exists(source)]
        for source in self._sources:
            if source not in found:
                self._tell(f"{source} is not there.")
        if not found:
            raise SparkJobError(
                f"There is nothing to read: {', '.join(self._sources) or 'no place was named'}.",
                "Nodes write snapshots some seconds after their start; `mesh snapshots ls` says where.",
                "NO_SNAPSHOTS",
            )
        return found

    def _result(self, began: float) -> Ingested:
        it = self._sum
        return Ingested(it.rows, it.repeated, it.quarantined, it.segments, time.monotonic() - began)

    # --- streams ------------------------------------------------------------------------------------------

    def _start(self, source: str, lock: Lock, every: float | None) -> StreamingQuery:
        lines = (
            self._session.readStream.format("text")
            .option("recursiveFileLookup", "true")
            .option("pathGlobFilter", "*.jsonl")
            .option("maxFileAge", ANY_AGE)
            .option("ignoreMissingFiles", "true")  # its node needed the room
            .option("maxBytesPerTrigger", f"{self._batch * 2**20}")
            .load(source)
            .select("value", F.col("_metadata.file_path").alias("path"))
        )
        name = hashlib.sha256(source.encode()).hexdigest()[:16]
        writer = lines.writeStream.foreachBatch(lambda batch, _: self._add(source, lock, batch)).option(
            "checkpointLocation", f"{self._to}/{CHECKPOINT}/{name}"
        )
        if every is None:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{every} seconds").start()

    def _until_ended(self, queries: Sequence[StreamingQuery]) -> None:
        """Of its own, or since one has failed, or since somebody wants it."""
        try:
            while any(query.isActive for query in queries) and not self._stopping.is_set():
                time.sleep(LOOK)
                for query in queries:
                    if (error := query.exception()) is not None:
                        raise error
            for query in queries:
                if (error := query.exception()) is not None:
                    raise error
        finally:
            with self._busy:
                for query in queries:
                    query.stop()

    def _add(self, source: str, lock: Lock, batch: DataFrame) -> None:
        """A batch, wholly or not at all as far as anybody can see later: see spark.batch."""
        with self._busy:
            if self._stopping.is_set():
                raise InterruptedError("it was to end before this batch")
            try:
                lock.check()
                seen = Observation()
                added = self._table.add(batch.observe(seen, F.collect_set("path").alias("paths")))
                lock.check()
                self._count(source, added, list(seen.get["paths"]))
            except SparkJobError as error:
                self._failed = error
                raise

    def _count(self, source: str, added: Added, paths: list[str]) -> None:
        it = self._sum
        self._sum = Ingested(
            it.rows + added.rows, it.repeated + added.repeated, it.quarantined + added.quarantined,
            it.segments + len(paths),
        )  # fmt: skip
        self._mark(source, [path.rpartition("/")[2] for path in paths])

    def _mark(self, source: str, segments: Sequence[str]) -> None:
        """Tell the nodes that write there what they need not keep any more."""
        place = f"{source}/{marker.NAME}"
        try:
            self._files.replace(place, marker.added(self._files.read(place), segments))
        except (Py4JJavaError, OSError):
            if source not in self._deaf:
                self._deaf.add(source)
                self._tell(f"{place} cannot be written: the nodes there keep what is in the history already.")


def ingest(
    session: SparkSession, sources: Sequence[str], to: str, *, batch: int = BATCH,
    tell: Callable[[str], None] = lambda text: None,
) -> Ingested:  # fmt: skip
    """Read once what `sources` hold into the history at `to`. Raises SparkJobError."""
    return Ingest(session, sources, to, batch=batch, tell=tell).once()
