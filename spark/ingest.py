"""Ingests segments into a history, with checkpointed streams for each source.

Spark's "continuous" mode reads no files, and has no batches from which duplicates could be removed. Even
continuous ingest is therefore a stream of small batches.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from mesh.history import checkpoint
from mesh.history.compaction import compact, finish
from mesh.history.errors import SparkJobError
from mesh.history.failures import CHECKPOINT, OF_SPARK, explained, in_words
from mesh.history.files import Files, address, history_address
from mesh.history.intake import Ingested, SegmentIntake
from mesh.history.lock import Lock, locked
from mesh.history.segments import COMPRESSED, PLAIN, stream
from mesh.history.unfinished import QUIET

BATCH = 4096  # approximate MiB of segments in one batch
LOOK = 0.1  # s between two checks of the streams
# Seconds after which continuous streams restart, and may clean their checkpoints.
DAY = 86_400.0
ENDED = "the job was stopped before this batch"


class Ingest:
    """Reads all `sources` into the history at `to`; places are paths or addresses.

    `tell` is called with messages for the user. `stop`, from any thread, ends the ingest after the current
    batch.
    """

    def __init__(
        self,
        session: SparkSession,
        sources: Sequence[str],
        to: str,
        *,
        batch: int = BATCH,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._session, self._batch, self._tell = session, batch, tell
        self._files = Files(session)
        self._sources = list(dict.fromkeys(map(address, sources)))
        self._to = history_address(to)
        self._intake = SegmentIntake(session, self._files, self._to, tell)
        self._busy = threading.Lock()  # one batch at a time over all streams
        self._stopping = threading.Event()  # a stop was requested
        self._ending = threading.Event()  # no further batch may begin
        self._failed: Exception | None = None
        self._missing: list[str] = []  # missing sources at the last check

    def stop(self) -> None:
        """End after the current batch."""
        self._stopping.set()

    def once(self) -> Ingested:
        """Read all existing segments, then compact the history. Raises: SparkJobError.

        A call of `stop` skips the remaining segments and the compaction.
        """
        began = time.monotonic()
        with in_words(self._to):
            sources = self._there()
        if not sources:
            raise SparkJobError(
                f"No snapshots exist in {', '.join(self._sources)}."
                if self._sources
                else "No place with snapshots was named.",
                "Nodes write snapshots some seconds after their start; `mesh snapshots ls` shows where.",
                "NO_SNAPSHOTS",
            )
        with self._writing() as lock:
            for source in sources:
                if not self._stopping.is_set():
                    self._run([source], lock)
                    self._read_on(source, lock)
            if not self._stopping.is_set():
                compact(self._session, self._files, self._to, lock.check_held)
        return replace(self._intake.counts, seconds=time.monotonic() - began)

    def again_and_again(self, every: float) -> Ingested:
        """Read new segments every `every` seconds until `stop`. Raises: SparkJobError.

        The history is compacted after each hour. Sources may appear and disappear at any time.
        """
        began = time.monotonic()
        with self._writing() as lock:
            while not self._stopping.is_set():
                if sources := self._there():
                    self._run(sources, lock, every)
                else:
                    self._stopping.wait(every)
        return replace(self._intake.counts, seconds=time.monotonic() - began)

    @contextmanager
    def _writing(self) -> Iterator[Lock]:
        try:
            with locked(self._files, self._to) as lock:
                finish(self._files, self._to, lock.check_held)
                yield lock
        except OF_SPARK as error:
            raise self._failed or explained(error, self._to) from error

    def _there(self) -> list[str]:
        """Return the sources that exist, and report each newly missing one."""
        missing = [source for source in self._sources if not self._files.exists(source)]
        for source in missing:
            if source not in self._missing:
                self._tell(f"{source} does not exist.")
        self._missing = missing
        return [source for source in self._sources if source not in missing]

    # --- streams ------------------------------------------------------------------------------------------

    def _run(self, sources: Sequence[str], lock: Lock, every: float | None = None) -> None:
        """Run the streams of `sources` until all end, one fails, a stop is requested, or a day is over.

        With `every`, the run also ends when a source, or a kind of segments in it, appears or disappears.
        """
        queries: list[StreamingQuery] = []
        tomorrow, hour, looked = time.monotonic() + DAY, _hour(), time.monotonic()
        minute, kinds = looked, self._kinds(sources)
        try:
            for source, kind in kinds:
                queries.append(self._start(source, kind, lock, every))
            while not self._stopping.is_set() and all(query.exception() is None for query in queries):
                if time.monotonic() > tomorrow or not any(query.isActive for query in queries):
                    break
                if every is not None and time.monotonic() > looked + every:
                    looked = time.monotonic()
                    if self._there() != sources:
                        break
                if every is not None and time.monotonic() > minute + QUIET:
                    minute = time.monotonic()
                    for source in sources:
                        self._read_on(source, lock)
                    if self._kinds(sources) != kinds:
                        break
                if every is not None and _hour() != hour:
                    hour = _hour()
                    self._compact(lock)
                time.sleep(LOOK)
        finally:
            self._end(queries)

    def _kinds(self, sources: Sequence[str]) -> list[tuple[str, str]]:
        """Return each source with each kind of segments in it; the kind COMPRESSED only where it exists."""
        return [
            (source, kind)
            for source in sources
            for kind in (PLAIN, COMPRESSED)
            if kind == PLAIN or self._files.has(source, kind)
        ]

    def _start(self, source: str, kind: str, lock: Lock, every: float | None) -> StreamingQuery:
        place = checkpoint.place(self._to, source if kind == PLAIN else f"{source}/{kind}")
        checkpoint.forget_what_is_gone(self._files, place, source)
        found = stream(self._session, source, self._batch, kind)
        writer = found.writeStream.foreachBatch(lambda batch, _: self._add_batch(source, batch, lock))
        writer = writer.option("checkpointLocation", place)
        writer = writer.trigger(
            **({"availableNow": True} if every is None else {"processingTime": f"{every} seconds"})
        )
        try:
            return writer.start()
        except OF_SPARK as error:
            raise explained(error, self._to, CHECKPOINT) from error

    def _end(self, queries: Sequence[StreamingQuery]) -> None:
        """End the streams once the current batch is in the checkpoint, so that it is not read again.

        The error of a failed stream is raised.
        """
        self._ending.set()
        while any(query.isActive and query.status["isTriggerActive"] for query in queries):
            time.sleep(LOOK)
        for query in queries:
            query.stop()
        self._ending.clear()
        if self._failed:
            raise self._failed
        for query in queries:
            if (error := query.exception()) is not None and ENDED not in str(error):
                raise explained(error, self._to, CHECKPOINT)

    def _compact(self, lock: Lock) -> None:
        with self._busy:
            compact(self._session, self._files, self._to, lock.check_held)

    def _add_batch(self, source: str, batch: DataFrame, lock: Lock) -> None:
        with self._busy:
            if self._ending.is_set():
                raise InterruptedError(ENDED)
            try:
                self._intake.add(source, batch, lock)
            except OF_SPARK as error:
                self._failed = explained(error, self._to)
                raise
            except Exception as error:  # Spark would turn it into a text
                self._failed = error
                raise

    def _read_on(self, source: str, lock: Lock) -> None:
        with self._busy, in_words(self._to):
            self._intake.reread_grown(source, lock)


def _hour() -> datetime:
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def ingest(
    session: SparkSession,
    sources: Sequence[str],
    to: str,
    *,
    batch: int = BATCH,
    tell: Callable[[str], None] = lambda text: None,
) -> Ingested:
    """Read `sources` once into the history at `to`. Raises: SparkJobError."""
    return Ingest(session, sources, to, batch=batch, tell=tell).once()
