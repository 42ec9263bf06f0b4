"""Lock of a history: one job writes at a time, and a killed job blocks others for a limited time."""

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError

from mesh.history.errors import SparkJobError
from mesh.history.files import Files

NAME = "_lock"
BEAT = 2.0  # s between two signs of life
# Seconds without a sign of life after which a writer counts as dead. A busy disk may delay the sign.
STALE = 30.0
LOOK = 0.2  # s between two checks of another's lock
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")  # of the kernel, the same in all containers
PIDS = Path("/proc/self/ns/pid")  # PID namespace: a container has its own


class Lock:
    """A lock file that names its writer.

    Its content changes regularly, so that other jobs see a living writer without comparing clocks.
    """

    def __init__(self, files: Files, place: str) -> None:
        self._files, self._place = files, place
        self._path = f"{place}/{NAME}"
        self._since = datetime.now(UTC).isoformat(timespec="seconds")
        self._token = uuid.uuid4().hex
        self._beats = 0
        self._lost = ""  # why the lock was lost
        self._ended = threading.Event()
        self._beating = threading.Thread(target=self._beat, daemon=True)

    def acquire(self) -> None:
        """Acquire the lock. Raises: SparkJobError IN_USE, if another job still writes.

        Unless the other writer is known to be dead, wait up to STALE seconds for a sign of life.
        """
        while not self._files.create(self._path, self._sign()):
            seen = self._read()
            if seen is not None and not is_dead_here(seen, namespace()):
                self._wait_for_its_end(seen)
            if seen is not None and self._read() == seen:
                self._files.remove(self._path)
        self._beating.start()

    def check_held(self) -> None:
        """Check that this job still has the lock. Raises: SparkJobError LOCK_LOST.

        The lock file is read again, because the last beat may be too old.
        """
        if not self._is_ours():
            raise SparkJobError(
                f"This job may no longer write to {self._place}: {self._lost}.",
                "No data is lost or duplicated. Start the job again when no other job writes there.",
                "LOCK_LOST",
            )

    def release(self) -> None:
        self._ended.set()
        self._beating.join()  # its last beat would write the file again
        if self._is_ours():
            self._files.remove(self._path)

    def _wait_for_its_end(self, seen: dict[str, Any]) -> None:
        """Return when the lock is gone or was unchanged for STALE seconds. Raises: SparkJobError IN_USE."""
        deadline = time.monotonic() + STALE
        while time.monotonic() < deadline:
            time.sleep(LOOK)
            now = self._read()
            if now is None:
                return
            if now and now != seen:
                raise SparkJobError(
                    f"Another job writes to {self._place}: process {now.get('pid')} on {now.get('host')}, "
                    f"since {now.get('since')}.",
                    "Wait until it has ended, or end it. A killed job blocks others for "
                    f"{STALE:.0f} s at most. To read the history meanwhile: mesh report "
                    "--no-ingest.",
                    "IN_USE",
                )

    def _beat(self) -> None:
        while not self._ended.wait(BEAT):
            with suppress(Py4JError, OSError):  # such as a full disk: the job will report it
                if not self._is_ours():
                    return
                self._files.overwrite(self._path, self._sign())

    def _is_ours(self) -> bool:
        """Return whether this job still has the lock.

        Once lost, the lock stays lost. An empty or invalid file does not count as lost: it is being written.
        """
        if not self._lost:
            self._lost = self._taken(self._read())
        return not self._lost

    def _taken(self, seen: dict[str, Any] | None) -> str:
        if seen is None:
            return f"its lock file {self._path} was deleted"
        if seen.get("token", self._token) == self._token:
            return ""
        who = f"process {seen.get('pid')} on {seen.get('host')}, since {seen.get('since')}"
        return f"{who}, took over; a job without a sign of life for more than {STALE:.0f} s loses its lock"

    def _sign(self) -> str:
        self._beats += 1
        who = {"pid": os.getpid(), "namespace": namespace(), "host": socket.gethostname()}
        return json.dumps({**who, "since": self._since, "token": self._token, "beats": self._beats})

    def _read(self) -> dict[str, Any] | None:
        """Return the content of the lock file: None without a file, empty if it is unfinished or invalid."""
        text = self._files.read(self._path)
        try:
            read = json.loads(text or "{}")
        except ValueError:
            read = {}
        return None if text is None else read if isinstance(read, dict) else {}


@contextmanager
def locked(files: Files, place: str) -> Iterator[Lock]:
    """Hold the lock of the history at `place`."""
    lock = Lock(files, place)
    lock.acquire()
    try:
        yield lock
    finally:
        lock.release()


def namespace(boot_id: Path = BOOT_ID, pids: Path = PIDS) -> str:
    """Return the namespace of this process's id: the boot of the kernel, and the PID namespace.

    The result is empty if the system does not report it. A host name is not enough, because two containers
    may have the same host name and the same process ids.
    """
    try:
        return f"{boot_id.read_text().strip()} {os.readlink(pids)}"
    except OSError:
        return ""


def is_dead_here(sign: dict[str, Any], here: str) -> bool:
    """Return whether the writer is a process of the namespace `here` that has ended."""
    if not here or sign.get("namespace") != here or not isinstance(sign.get("pid"), int):
        return False
    try:
        os.kill(sign["pid"], 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False
