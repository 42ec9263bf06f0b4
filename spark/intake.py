"""Adds segments to a history, and marks them for the nodes, which may then delete them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from mesh.history import marker
from mesh.history.batch import Added, Table
from mesh.history.failures import OF_SPARK
from mesh.history.files import Files
from mesh.history.growing import Growing
from mesh.history.lock import Lock
from mesh.history.segments import COMPRESSED, FILE, PLAIN, lines, reread
from mesh.history.unfinished import Read


@dataclass(frozen=True, slots=True)
class Ingested:
    """The counts of an ingest, and its duration in seconds.

    `rows` counts new rows, `repeated` duplicate lines, and `quarantined` bad lines that were added to the
    quarantine. `segments` counts a segment each time it is read.
    """

    rows: int = 0
    repeated: int = 0
    quarantined: int = 0
    segments: int = 0
    seconds: float = 0.0


class SegmentIntake:
    """The additions to the history at `to` by one ingest, and their counts.

    The caller makes one call at a time. `tell` is called with messages for the user.
    """

    def __init__(self, session: SparkSession, files: Files, to: str, tell: Callable[[str], None]) -> None:
        self._session, self._files, self._tell = session, files, tell
        self._table = Table(session, files, to)
        self._growing = Growing(files, to)
        self._told: set[str] = set()  # messages that are printed once
        self.counts: Ingested = Ingested()

    def add(self, source: str, batch: DataFrame, lock: Lock) -> None:
        """Add a batch without duplicates, and mark its complete segments as ingested."""
        seen = Observation()
        # As JSON text, because an Observation of PySpark 4.0 cannot return lists.
        files = F.to_json(F.collect_set(F.struct(*FILE)))
        read = lines(self._without_links(source, batch).observe(seen, files.alias("files")))
        added = self._table.add(read, lock.check_held)
        lock.check_held()
        reads = [Read(**read) for read in json.loads(seen.get["files"])]
        self._count(added, reads)
        self._mark(self._growing.record_read(reads))

    def reread_grown(self, source: str, lock: Lock) -> None:
        """Reread the files of `source` that changed in size, or whose end stayed incomplete too long."""
        grown = self._growing.grown(source)
        for kind in (PLAIN, COMPRESSED):
            paths = [path for path in grown if path.endswith(kind.removeprefix("*"))]
            for path in paths:
                self._tell_once(f"{path} was incomplete and is read again.")
            if paths:
                self.add(source, reread(self._session, paths, kind), lock)

    def _without_links(self, source: str, batch: DataFrame) -> DataFrame:
        """Return `batch` without files below symbolic links, and report each link once.

        Spark would follow the links, out of the source or in endless loops.
        """
        for link in self._files.links(source):
            self._tell_once(f"{unquote(link)} is a link and is not followed.")
            batch = batch.where((F.col("path") != link) & ~F.col("path").startswith(f"{link}/"))
        return batch

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._tell(text)

    def _count(self, added: Added, reads: Sequence[Read]) -> None:
        it = self.counts
        self.counts = Ingested(
            it.rows + added.rows,
            it.repeated + added.repeated,
            it.quarantined + added.quarantined,
            it.segments + len(reads),
        )

    def _mark(self, paths: list[str]) -> None:
        """Record in marker files that nodes may delete the segments `paths`."""
        for place, names in marker.by_place(paths).items():
            path = f"{place}/{marker.NAME}"
            try:
                self._files.replace_file(path, marker.added(self._files.read(path), names))
            except OF_SPARK:
                self._tell_once(
                    f"{path} cannot be written, so nodes there keep segments that the history already has."
                )
