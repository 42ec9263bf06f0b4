"""Keeps space free on the disk: a reserve is released when the disk is full, for necessary writes."""

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

from mesh.errors import StoreError

RESERVED = "reserve"  # name of the file
RESERVE = 16 * 1024 * 1024  # bytes, at most: log space for acknowledgments
TRY_AGAIN = 60.0  # s until growth is retried after a failed write
TIGHT = 2  # times the wanted free space: below it queues must not grow
START = 256 * 1024  # bytes for identity, lock and log of a start
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_ACCESS, _FILES = "Allow this user to write there", "Raise the limit of open files (ulimit -n)"
_MENDS = {
    **dict.fromkeys(_NO_ROOM, "Free space on that disk"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _ACCESS),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), _FILES),
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR), "Check that the directory exists"),
    **dict.fromkeys((errno.ELOOP, errno.EISDIR), "Move away what is in the place of this file"),
}
_CANNOT = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)  # file systems that cannot reserve

Tell = Callable[[str, str], None]  # lower-case level of logging, text


def is_full(error: OSError) -> bool:
    return error.errno in _NO_ROOM


def broken(path: Path | str, error: OSError) -> StoreError:
    """Return the error for a file operation that ends the use of a store."""
    hint = _MENDS.get(error.errno or 0, "Check that disk and its kernel messages (dmesg)")
    return StoreError(
        f"{path} failed: {error.strerror or error}.", hint=f"{hint}, then start the node again."
    )


def reserve_of(wanted: int) -> int:
    """Return the bytes to reserve, if `wanted` bytes must stay free."""
    return min(RESERVE, wanted // 4)


class Reserve:
    """A file that reserves space on the disk."""

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        self.is_held = self._is_whole()  # by an earlier start

    def _is_whole(self) -> bool:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return False
        return found.st_size == self.size and found.st_blocks * 512 >= self.size

    def acquire(self) -> bool:
        """Reserve the space. Return False if the disk has too little; a part reserved earlier is kept.

        On a file system that cannot reserve space, reserve none and return True. Raises: OSError.
        """
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
                self.release()
                if is_full(error):
                    return False
                if error.errno not in _CANNOT:
                    raise
                self.size = 0  # no reserve on this file system
            finally:
                os.close(file)
        self.is_held = True
        return True

    def release(self) -> None:
        self.is_held = False
        self.path.unlink(missing_ok=True)

    def lend(self, size: int) -> None:
        """Release `size` bytes of a reserve that no process holds."""
        left = self.path.stat().st_size - size if self.path.exists() else 0
        if left > 0:
            os.truncate(self.path, left)
        else:
            self.release()


def make_room(directory: Path, reserve: str = RESERVED) -> None:
    """Ensure that a starting node can write: on a full disk, release a part of the reserve.

    Without a reserve, the first write of the node reports the full disk. Raises: OSError.
    """
    trial = Reserve(directory / ".room", START)
    try:
        if not trial.acquire():
            Reserve(directory / reserve, 0).lend(START)
    finally:
        trial.release()


class DiskSpace:
    """Free space on a disk, of which `wanted` bytes must stay free; 0 means no limit and no reserve.

    `is_short` means that less than `wanted` is free, that the reserve does not fit, or that a write has
    failed. `is_tight` means that `is_short` is set, or that less than twice `wanted` is free; then queues
    must not grow. `spare()` returns the bytes that the store can reuse inside its file, which count as free.
    `tell(level, text)` reports changes of `is_short`.
    """

    # A quarter must be free on the disk itself, as the log cannot use spare bytes of the store's file.

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
        self._full_at, self._left_then = (-float("inf"), 0)  # last failed write; least free bytes since
        self._tight = TIGHT * wanted
        self._reserve = Reserve(directory / reserve, reserve_of(wanted))
        if not wanted:
            self._reserve.release()
        elif not self._reserve.is_held and self.free - self._reserve.size >= START:
            self._reserve.acquire()  # leaves space for the writes of this start

    @property
    def free(self) -> int:
        found = os.statvfs(self._directory)
        return found.f_bavail * found.f_frsize

    def measure(self) -> None:
        """Measure the free space, and update `is_tight` and `is_short`. A change of `is_short` is reported.

        The reserve is restored when there is space for it. If `wanted` is 0, nothing is measured.
        """
        if not self._wanted:
            return
        left = self._left
        self._left_then = min(self._left_then, left)
        self.is_tight = left + self._spare() < self._tight + (self._wanted // 8 if self.is_tight else 0)
        if not self._is_enough(left, more=self._wanted // 8 if self.is_short else 0):
            self._run_short(f"{self.free} bytes are free, {self._wanted} are required")
        elif not self._is_over(left):
            self.is_tight = True
        elif self._reserve.is_held or self._reserve.acquire():
            if self.is_short:
                self.is_short = False
                self._tell("info", f"disk of {self._directory} has space again")
        else:
            self._run_short("no space for the reserve")

    def release_reserve(self) -> None:
        """Release the reserve after a write failed for lack of space, and report a new shortage."""
        if self._wanted:
            self._full_at, self._left_then = self._clock(), self._left
            self._reserve.release()
            self._run_short("the disk is full, and the reserve is in use")

    @property
    def _left(self) -> int:
        return self.free - (0 if self._reserve.is_held else self._reserve.size)

    def _is_over(self, left: int) -> bool:
        """Return whether a write may succeed: space was freed since the last failure, or TRY_AGAIN s passed.

        With a quota, for example, writes fail although the disk has free space.
        """
        return left >= self._left_then + self._wanted // 8 or self._clock() - self._full_at >= TRY_AGAIN

    def _is_enough(self, left: int, more: int) -> bool:
        return left >= self._wanted // 4 and left + self._spare() >= self._wanted + more

    def _run_short(self, why: str) -> None:
        self.is_tight = True
        if not self.is_short:
            self.is_short = True
            what = f"disk of {self._directory} has little space: {why}"
            self._tell("warning", f"{what}; persistent publishes are refused, acknowledgments continue")
