"""How do segments stand on the disk? Found, written, finished, and finished for a node that was killed."""

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

# Law: under the name of a closed segment there are only whole lines, and they are on the disk.


class SegmentFiles(msgspec.Struct, frozen=True):
    """The segments in a directory: closed ones, and those that are or were being written."""

    closed: list[Segment] = []  # each has its own
    unfinished: list[Segment] = []


def find(place: Path) -> SegmentFiles:
    """The segments in `place`, of all nodes, hour by hour; none if it is not there.

    What is no segment is passed over. OSError as it comes.
    """
    found = SegmentFiles()
    for hour in find_by_hour(place):
        found.closed.extend(hour.closed)
        found.unfinished.extend(hour.unfinished)
    return found


def find_by_hour(place: Path, uuid8: str = "") -> Iterator[SegmentFiles]:
    """The same, of all nodes or of one, without holding all of it: there may be a hundred thousand."""
    for hour in _hours(place):
        found = SegmentFiles()
        for text, size in sizes(place / hour).items():
            if uuid8 not in text:
                continue  # a quick look: the directory of many nodes has many files
            name = SegmentName.parse(text.removeprefix("_"))
            if name is None or (uuid8 and name.uuid8 != uuid8):
                continue
            group = found.unfinished if text.startswith("_") else found.closed
            group.append(Segment(name, hour, size))
        yield found


def sizes(directory: Path) -> dict[str, int]:
    """The plain files of a directory, and how many bytes they have; none if it is not there."""
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
    """A marker, and what is wrong with it, if anything: then nothing is safe elsewhere."""
    try:
        return Marker.parse(path.read_bytes()), ""
    except (FileNotFoundError, NotADirectoryError):
        return Marker(), ""
    except (OSError, ValueError) as error:
        return Marker(), str(error)


def make_directories(path: Path, top: Path, mode: int) -> None:
    """The directory, durably; and what is missing of the way to it, down from `top`. OSError as it comes."""
    if path.is_dir():
        return
    if path != top:
        make_directories(path.parent, top, mode)
    path.mkdir(mode, exist_ok=True)
    sync_directory(path.parent)


def recover(place: Path, left: Segment) -> Segment | None:
    """Finish what a killed node has left: up to its last whole line. None: it had none, and is gone.

    OSError as it comes.
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
    """Give a file that is on the disk its final name. OSError as it comes."""
    unfinished.rename(path)
    sync_directory(path.parent)


class OpenSegment:
    """A segment that is being written, under its unfinished name. Every method: OSError as it comes.

    `lines` and `bytes` count what is in it for certain.
    """

    def __init__(self, place: Path, name: SegmentName, hour: str) -> None:
        make_directories(place / hour, place, 0o700)
        self.lines = self.bytes = 0
        self._place, self._name, self._hour = place, name, hour
        self._path = place / hour / name.unfinished
        self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)

    def write(self, lines: Sequence[bytes]) -> None:
        """Hand these lines to the operating system, so that they outlive this process.

        After an error there may be a part of them behind the others: then only `finish` is of use.
        """
        content = b"\n".join(lines) + b"\n"
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(self._handle, rest) :]
        self.lines += len(lines)
        self.bytes += len(content)

    def finish(self) -> Segment | None:
        """Have it on the disk under its final name, without what a failed write has left.

        None: there was no line in it, and nothing of it is left. After an error its lines are lost.
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
                self._path.unlink()  # was renamed if all went well
        return None


def delete(place: Path, segment: Segment) -> bool:
    """Delete it, and the directories that are empty without it; False: it was gone. OSError as it comes."""
    path = place / segment.path
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    with contextlib.suppress(OSError):  # most often: it is not empty
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
