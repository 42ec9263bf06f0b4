"""Segments on disk: search, write, finish, and recovery after a crash."""

import contextlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from mesh.local.private import sync_directory
from mesh.snapshots.marker import Marker
from mesh.snapshots.segment import Segment, SegmentName

_DATE = re.compile(r"date=\d{4}-\d\d-\d\d")
_HOUR = re.compile(r"hour=\d\d")

# Law: a closed segment has only whole lines, and they are durable.


class SegmentFiles(msgspec.Struct, frozen=True):
    """The segments in a directory: closed, and unfinished (being written or left by a crash)."""

    closed: list[Segment] = []  # msgspec copies the default
    unfinished: list[Segment] = []


def find(place: Path) -> SegmentFiles:
    """Return the segments of all nodes in `place`, ordered by hour. Raises: OSError.

    Other files are ignored. A missing directory has none.
    """
    found = SegmentFiles()
    for hour in find_by_hour(place):
        found.closed.extend(hour.closed)
        found.unfinished.extend(hour.unfinished)
    return found


def find_by_hour(place: Path, uuid8: str = "") -> Iterator[SegmentFiles]:
    """Yield the segments hour by hour, of all nodes or of one (`uuid8`).

    A directory may contain a hundred thousand segments, so they are not all listed together.
    """
    for hour in _hours(place):
        found = SegmentFiles()
        for text, size in sizes(place / hour).items():
            if uuid8 not in text:
                continue  # a cheap filter, as there may be many files
            name = SegmentName.parse(text.removeprefix("_"))
            if name is None or (uuid8 and name.uuid8 != uuid8):
                continue
            group = found.unfinished if text.startswith("_") else found.closed
            group.append(Segment(name, hour, size))
        yield found


def sizes(directory: Path) -> dict[str, int]:
    """Return the sizes of the plain files in a directory, in bytes. A missing directory has none."""
    found = {}
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                    it = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(it.st_mode):
                        found[entry.name] = it.st_size
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return found


def read_marker(path: Path) -> tuple[Marker, str]:
    """Return a marker, and the reason if it cannot be read, else "".

    A marker that is missing or cannot be read is empty: nothing counts as copied.
    """
    try:
        return Marker.parse(path.read_bytes()), ""
    except (FileNotFoundError, NotADirectoryError):
        return Marker(), ""
    except (OSError, ValueError) as error:
        return Marker(), str(error)


def make_directories(path: Path, top: Path, mode: int) -> None:
    """Create a directory and its missing parents below `top`, durably. Raises: OSError."""
    if path.is_dir():
        return
    if path != top:
        make_directories(path.parent, top, mode)
    path.mkdir(mode, exist_ok=True)
    sync_directory(path.parent)


def recover(place: Path, left: Segment) -> Segment | None:
    """Finish a segment of a killed node, up to its last whole line. Raises: OSError.

    Return `None` if it had no whole line; the file is then removed.
    """
    path = place / left.hour / left.name.unfinished
    with path.open("r+b") as file:
        size = file.read().rfind(b"\n") + 1
        file.truncate(size)
        os.fsync(file.fileno())
    if size == 0:
        path.unlink()
        return None
    appear(path, place / left.path)
    return Segment(left.name, left.hour, size)


def appear(unfinished: Path, path: Path) -> None:
    """Rename a file that is durable to its final name, durably. Raises: OSError."""
    unfinished.rename(path)
    sync_directory(path.parent)


class OpenSegment:
    """A segment being written, under its unfinished name. Every method may raise OSError.

    `lines` and `bytes` count the complete content.
    """

    def __init__(self, place: Path, name: SegmentName, hour: str) -> None:
        make_directories(place / hour, place, 0o700)
        self.lines = self.bytes = 0
        self._place, self._name, self._hour = place, name, hour
        self._path = place / hour / name.unfinished
        self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)

    def write(self, lines: Sequence[bytes]) -> None:
        """Pass lines to the operating system, so that they survive the end of this process.

        After an error, the file may end with a part of `lines`, and only `finish` may be called.
        """
        content = b"\n".join(lines) + b"\n"
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(self._handle, rest) :]
        self.lines += len(lines)
        self.bytes += len(content)

    def finish(self) -> Segment | None:
        """Make the segment durable under its final name, without the rest of a failed write.

        Return `None` if it had no lines; the file is then removed. After an error its lines are lost.
        """
        try:
            try:
                os.ftruncate(self._handle, self.bytes)
                os.fsync(self._handle)
            finally:
                os.close(self._handle)
            if self.lines:
                appear(self._path, self._place / self._hour / str(self._name))
                return Segment(self._name, self._hour, self.bytes)
        finally:
            with contextlib.suppress(OSError):
                self._path.unlink()  # renamed, if all went well
        return None


def delete(place: Path, segment: Segment) -> bool:
    """Delete a segment, and directories that become empty. Return False if it was missing.

    Raises: OSError.
    """
    path = place / segment.path
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    with contextlib.suppress(OSError):  # usually it is not empty
        path.parent.rmdir()
        path.parent.parent.rmdir()
    return True


def _hours(place: Path) -> Iterator[str]:
    for date in _named(place, _DATE):
        for hour in _named(place / date, _HOUR):
            yield f"{date}/{hour}"


def _named(directory: Path, pattern: re.Pattern[str]) -> list[str]:
    try:
        names = os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(name for name in names if pattern.fullmatch(name))
