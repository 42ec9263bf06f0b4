"""Retention of a node's segments: recovers unfinished ones, and deletes old ones over the limit."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from mesh.local.segmentfiles import delete, find_by_hour, read_marker, recover
from mesh.local.troubles import Troubles
from mesh.snapshots.marker import INGESTED, SYNCED, Marker
from mesh.snapshots.retention import ClosedSegments, Pile
from mesh.snapshots.segment import Segment

LOOK = 300.0  # s between two scans of up to 50,000 files

Signature = tuple[tuple[int, int, int] | None, ...]


class SegmentKeeper:
    """The closed segments of the node `uuid8`. Segments of other nodes in the directory are not touched.

    Disk errors are reported, not raised. `dropped` counts segments that were deleted before they were copied
    or ingested.
    """

    def __init__(self, place: Path, uuid8: str, limit: int, troubles: Troubles) -> None:
        self.dropped = 0
        self._place, self._uuid8, self._limit = place, uuid8, limit
        self._troubles = troubles
        self._holding = ClosedSegments()
        self._looked: float | None = None  # time of the scan; None: it failed
        self._signature: Signature = ()

    def recover_segments(self, boot: int, now: float) -> int:
        """Recover segments of earlier boots. Return the highest number that `boot` has used.

        The number is 0, except for a node that was restored from a copy, which continues after its old
        segments.
        """
        closed, unfinished = self._find(now)
        recovered = [self._recovered(it, now) for it in unfinished if it.name.boot != boot]
        whole = [segment for segment in recovered if segment is not None]
        if whole:
            names = ", ".join(str(segment.name) for segment in whole)
            self._troubles.tell("info", f"Recovered snapshots that an earlier start left unfinished: {names}")
        self._hold(chain(closed, whole), now)
        numbers = (it.name.number for it in chain(closed, unfinished) if it.name.boot == boot)
        return max(numbers, default=0)

    def add(self, segment: Segment, now: float) -> None:
        self._holding.add(segment)
        if self._holding.must_drop(self._limit):
            self._look_again(now)
        if self._holding.bytes <= self._limit:
            return
        safe, unread = self._holding.take_surplus(self._limit)
        for it in safe:
            self._deleted(it, now)
        dropped = sum([self._deleted(it, now) for it in unread])
        self.dropped += dropped
        self._tell_of_drops(dropped, now)

    def _look_again(self, now: float) -> None:
        """Refresh the known segments and markers before segments are deleted that are not copied or ingested.

        Some of the segments may be copied, ingested or deleted by now.
        """
        if self._looked is None or now - self._looked >= LOOK:
            closed, _ = self._find(now)
            if self._looked == now:
                self._hold(closed, now)
        elif self._signature != self._sign():
            self._hold(self._holding, now)

    def _find(self, now: float) -> tuple[Pile, list[Segment]]:
        """Return the closed segments and the unfinished ones, none after a disk error."""
        closed, unfinished = Pile(), list[Segment]()
        try:
            for found in find_by_hour(self._place, self._uuid8):
                unfinished += found.unfinished
                for segment in sorted(found.closed, key=lambda it: (it.name.boot, it.name.number)):
                    closed.add(segment)
        except OSError as error:
            self._looked = None
            self._troubles.happens("find", f"The snapshots in {self._place} cannot be listed: {error}.", now)
            return Pile(), []
        self._looked = now
        self._troubles.goes_well("find", f"The snapshots in {self._place} can be listed again.", now)
        return closed, unfinished

    def _hold(self, segments: Iterable[Segment], now: float) -> None:
        self._signature = self._sign()
        self._holding = ClosedSegments(segments, [self._marker(name, now) for name in (INGESTED, SYNCED)])

    def _marker(self, name: str, now: float) -> Marker:
        path = self._place / name
        marker, wrong = read_marker(path)
        if wrong:
            text = f"{path} cannot be read: {wrong}. No snapshot is considered copied until then."
            self._troubles.happens(name, text, now)
        else:
            self._troubles.goes_well(name, f"{path} can be read again.", now)
        return marker

    def _sign(self) -> Signature:
        return tuple(_sign(self._place / name) for name in (INGESTED, SYNCED))

    def _recovered(self, left: Segment, now: float) -> Segment | None:
        try:
            return recover(self._place, left)
        except OSError as error:
            text = f"A snapshot that was left unfinished cannot be recovered: {error}."
            self._troubles.happens("recover", text, now)
            return None

    def _deleted(self, segment: Segment, now: float) -> bool:
        try:
            deleted = delete(self._place, segment)
        except OSError as error:
            text = f"The snapshots in {self._place} exceed their limit, but cannot be deleted: {error}."
            self._troubles.happens("delete", text, now)
            return False
        self._troubles.goes_well("delete", f"Snapshots in {self._place} can be deleted again.", now)
        return deleted

    def _tell_of_drops(self, dropped: int, now: float) -> None:
        if dropped:
            self._troubles.happens(
                "drop",
                f"The snapshots in {self._place} exceed {self._limit:,} bytes: the oldest are "
                "deleted, although they were not copied or ingested. To keep them: mesh "
                "snapshots sync --to DIR",
                now,
            )
        else:
            text = f"No more uncopied snapshots are deleted. Segments deleted before: {self.dropped:,}."
            self._troubles.goes_well("drop", text, now)


def _sign(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
