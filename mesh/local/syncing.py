"""Copies closed segments to another directory, once, and records them as copied."""

import contextlib
import fcntl
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mesh.errors import DataDirRefused
from mesh.local.private import refused, sync_directory, write_private
from mesh.local.segmentfiles import find, make_directories, read_marker, sizes
from mesh.snapshots.marker import SYNCED
from mesh.snapshots.segment import Segment, SegmentName

_OTHER_FROM = "Choose a writable directory of snapshots with --from DIR."


@dataclass(frozen=True, slots=True)
class Problem:
    """A segment that was not copied, with the reason.

    `path` is "" if the target cannot be written at all, and SYNCED if the record of copies cannot.
    """

    path: str
    code: str  # OTHER_SIZE, CANNOT_READ, CANNOT_WRITE, or an error's code
    text: str


@dataclass(slots=True)
class SyncTally:
    """The counts of one run. `present` counts segments that the target already had."""

    copied: int = 0
    bytes: int = 0
    present: int = 0
    problems: list[Problem] = field(default_factory=list)

    def count_failure(self, path: str, code: str, text: str) -> None:
        self.problems.append(Problem(path, code, text))


def sync(place: Path, to: Path, tally: SyncTally) -> None:
    """Copy the closed segments in `place` to the same paths below `to`, and record them as copied.

    Existing copies are skipped. A killed run leaves `_….part` files, which the next run replaces. Raises:
    DataDirRefused SAME_PLACE, SYNC_RUNS or DATA_DIR if `place` cannot be used at all.
    """
    _check_apart(place, to)
    with _alone(place):
        try:
            found = find(place).closed
        except OSError as error:
            raise refused(place, error, _OTHER_FROM) from error
        safe: list[SegmentName] = []
        try:
            for hour, segments in itertools.groupby(found, lambda it: it.hour):
                safe += _sync_hour(place, to, hour, list(segments), tally)
        except OSError as error:  # all others would fail too
            text = f"{to} cannot be written: {error.strerror}. The other files were not copied."
            tally.count_failure("", "CANNOT_WRITE", text)
        _write_down(place, found, safe, tally)


def _check_apart(place: Path, to: Path) -> None:
    if to.is_dir() and place.is_dir() and place.samefile(to):
        # All segments would count as copied, and be deleted.
        raise DataDirRefused(
            f"{to} is the directory to which the snapshots are written.",
            hint="Choose another one with --to DIR, preferably on another machine.",
            code="SAME_PLACE",
        )


@contextlib.contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Hold the lock for copying. Two runs at the same time would replace each other's files and records."""
    try:
        lock = os.open(place / f"{SYNCED}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise refused(place, error, _OTHER_FROM) from error
    with open(lock, "wb"):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DataDirRefused(
                f"The snapshots in {place} are being copied by another process.",
                hint="Try again after it has ended.",
                code="SYNC_RUNS",
            ) from error
        yield


def _sync_hour(
    place: Path, to: Path, hour: str, segments: Sequence[Segment], tally: SyncTally
) -> list[SegmentName]:
    """Copy the segments of an hour. Raises: OSError.

    Return the names of the segments that are in the target afterwards.
    """
    make_directories(to / hour, Path(to.anchor), 0o777)
    there = sizes(to / hour)
    safe = []
    for segment in segments:
        size = there.get(str(segment.name))
        if size is None:
            if not _copied(place, to, segment, tally):
                continue
        elif size == segment.bytes:
            tally.present += 1
        else:
            text = f"{to / segment.path} exists with {size:,} bytes, but {place} has {segment.bytes:,}."
            tally.count_failure(segment.path, "OTHER_SIZE", text)
            continue
        safe.append(segment.name)
    sync_directory(to / hour)  # also for renames of a killed run
    return safe


def _copied(place: Path, to: Path, segment: Segment, tally: SyncTally) -> bool:
    try:
        content = (place / segment.path).read_bytes()
    except FileNotFoundError:  # deleted by its node
        return False
    except OSError as error:
        text = f"{place / segment.path} cannot be read: {error.strerror}."
        tally.count_failure(segment.path, "CANNOT_READ", text)
        return False
    _write(to, segment, content)
    tally.copied += 1
    tally.bytes += len(content)
    return True


def _write(to: Path, segment: Segment, content: bytes) -> None:
    """Write a copy. Raises: OSError, after the incomplete file was removed."""
    # The name differs from an unfinished segment, which a node with this directory would recover as its own.
    temporary = to / segment.hour / f"{segment.name.unfinished}.part"
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(to / segment.path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _write_down(place: Path, found: Sequence[Segment], safe: Sequence[SegmentName], tally: SyncTally) -> None:
    path = place / SYNCED
    known, wrong = read_marker(path)
    marker = known.only({segment.name.run for segment in found}).add(safe)
    if marker == known and not wrong:
        return
    try:
        write_private(path, marker.encode(), durable=True)
    except OSError as error:
        text = (
            f"{path} cannot be written: {error.strerror}. The node does not know which snapshots were copied."
        )
        tally.count_failure(SYNCED, "CANNOT_WRITE", text)
