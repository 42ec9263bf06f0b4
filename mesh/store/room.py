"""Is there room on the disk for more? A reserve is given away before what must be written finds none."""

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

from mesh.errors import StoreError

RESERVED = "reserve"  # name of the file
RESERVE = 16 * 1024 * 1024  # bytes, at most: what the write-ahead log may need for acknowledgements
TRY_AGAIN = 60.0  # s until writes may grow again after one found no room, though no more is free
TIGHT = 2  # times what shall stay free: with less, queues may not grow
START = 256 * 1024  # bytes that a start may need, for identity, lock and log, before it can do anything
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_CANNOT = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)  # this file system does not reserve

Tell = Callable[[str, str], None]  # a level of logging, in small letters, and what is to be said


def is_full(error: OSError) -> bool:
    """Is it only that there is no room?"""
    return error.errno in _NO_ROOM


def broken(path: Path, error: OSError) -> StoreError:
    """The error of a disk on which something else is wrong than that it is full."""
    return StoreError(
        f"{path} failed: {error.strerror or error}.",
        hint="Look at that disk and its messages (dmesg), then restart the node.",
    )


def reserve_of(wanted: int) -> int:
    """Bytes to be held back, where so many shall stay free."""
    return min(RESERVE, wanted // 4)


class Reserve:
    """A file that holds room which nobody else can take."""

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        self.is_held = self._is_whole()  # by an earlier start

    def _is_whole(self) -> bool:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return False
        return found.st_size == self.size and found.st_blocks * 512 >= self.size

    def take(self) -> bool:
        """Hold it; False when there is not so much room: a part that was held already stays. OSError for
        anything else."""
        if self.size:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            part = os.fstat(file).st_size
            try:
                os.ftruncate(file, self.size)
                os.posix_fallocate(file, 0, self.size)
            except OSError as error:
                if is_full(error) and 0 < part < self.size:
                    os.ftruncate(file, part)
                    return False
                self.give()
                if is_full(error):
                    return False
                if error.errno not in _CANNOT:
                    raise
                self.size = 0  # then without
            finally:
                os.close(file)
        self.is_held = True
        return True

    def give(self) -> None:
        """Let the disk have it."""
        self.is_held = False
        self.path.unlink(missing_ok=True)

    def lend(self, size: int) -> None:
        """Let the disk have so much of it; nobody holds it."""
        left = self.path.stat().st_size - size if self.path.exists() else 0
        if left > 0:
            os.truncate(self.path, left)
        else:
            self.give()


def make_room(directory: Path, reserve: str = RESERVED) -> None:
    """A node that starts there must be able to write. If the disk is full its reserve lends some; if there
    is none, its first write will tell. OSError as it comes."""
    trial = Reserve(directory / ".room", START)
    try:
        if not trial.take():
            Reserve(directory / reserve, 0).lend(START)
    finally:
        trial.give()


class DiskSpace:
    """The room on a disk. `wanted`: bytes that shall stay free; 0 = all may be filled, nothing is reserved.
    `is_short`: less is free. `is_tight`: less than twice as much is, and queues must leave that to others.

    `spare()` says how many bytes the store can fill again without a larger file: where consumers made
    room in it, publishers may go on though the disk has not more than before.
    """

    # A quarter must be free on the disk itself: the log comes first, and cannot use what is spare.

    def __init__(
        self,
        directory: Path,
        wanted: int,
        spare: Callable[[], int],
        tell: Tell,
        reserve: str = RESERVED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.is_short = self.is_tight = False
        self._directory, self._wanted, self._spare, self._tell = directory, wanted, spare, tell
        self._clock = clock
        self._full_at, self._left_then = (
            -float("inf"),
            0,
        )  # when a write found no room last, and the least left since
        self._tight = TIGHT * wanted
        self._reserve = Reserve(directory / reserve, reserve_of(wanted))
        if not wanted:
            self._reserve.give()
        elif not self._reserve.is_held and self.free - self._reserve.size >= START:
            self._reserve.take()  # little room or not: but for what this start still has to write

    @property
    def free(self) -> int:
        """Bytes that are free on the disk."""
        found = os.statvfs(self._directory)
        return found.f_bavail * found.f_frsize

    def look(self) -> None:
        """Look how much is free now, and say when it is short, or no more."""
        if not self._wanted:
            return
        left = self._left
        self._left_then = min(self._left_then, left)
        self.is_tight = left + self._spare() < self._tight + (self._wanted // 8 if self.is_tight else 0)
        if not self._is_enough(left, more=self._wanted // 8 if self.is_short else 0):
            self._run_short(f"{self.free} bytes are free, {self._wanted} shall be")
        elif not self._is_over(left):
            self.is_tight = True
        elif self._reserve.is_held or self._reserve.take():
            if self.is_short:
                self.is_short = False
                self._tell("info", f"there is room again on the disk of {self._directory}")
        else:
            self._run_short("there is none for the reserve")

    def give(self) -> None:
        """Something found no room: let it have the reserve."""
        if self._wanted:
            self._full_at, self._left_then = self._clock(), self._left
            self._reserve.give()
            self._run_short("the disk is full, and the reserve is in use")

    @property
    def _left(self) -> int:
        return self.free - (0 if self._reserve.is_held else self._reserve.size)

    def _is_over(self, left: int) -> bool:
        """Return whether a write may find room again: more is free than when one did not, or it is long ago.

        A quota, for example, lets writes fail though much is free.
        """
        return left >= self._left_then + self._wanted // 8 or self._clock() - self._full_at >= TRY_AGAIN

    def _is_enough(self, left: int, more: int) -> bool:
        return left >= self._wanted // 4 and left + self._spare() >= self._wanted + more

    def _run_short(self, why: str) -> None:
        self.is_tight = True
        if not self.is_short:
            self.is_short = True
            what = f"little room on the disk of {self._directory}: {why}"
            self._tell("warning", f"{what}; persistent publishes are refused, acknowledgements go on")
