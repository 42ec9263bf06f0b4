"""May this job write to the history? One at a time does, and one that was killed does not bar it for ever."""

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

from spark.errors import SparkJobError
from spark.files import Files

NAME = "_lock"
BEAT = 2.0  # s between two signs of life,
STALE = 30.0  # s without one, after which a writer counts as dead: a busy disk may hold it up for a while
LOOK = 0.2  # s between two looks at the sign of another
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")  # of the kernel: the same in all containers of a machine
PIDS = Path(
    "/proc/self/ns/pid"
)  # names the namespace in which our process id counts: a container has its own


class Lock:
    """A file that says who writes, and changes all the time: so nobody's clock needs to be right."""

    def __init__(self, files: Files, place: str) -> None:
        self._files, self._place = files, place
        self._path = f"{place}/{NAME}"
        self._since = datetime.now(UTC).isoformat(timespec="seconds")
        self._token = uuid.uuid4().hex
        self._beats = 0
        self._lost = ""  # why it is not ours any more
        self._ended = threading.Event()

    def acquire(self) -> None:
        """Returns once it is ours, at once as a rule; raises SparkJobError IN_USE."""
        while not self._files.create(self._path, self._sign()):
            seen = self._read()
            if seen is not None and not is_dead_here(seen, namespace()):
                self._wait_for_its_end(seen)
            if seen is not None and self._read() == seen:
                self._files.remove(self._path)
        threading.Thread(target=self._beat, daemon=True).start()

    def check(self) -> None:
        """Raises SparkJobError LOCK_LOST when it is gone, or another took it.

        What the last beat saw may be older than that: so it looks itself.
        """
        if not self._is_ours():
            raise SparkJobError(
                f"This job may not write to {self._place} any more: {self._lost}.",
                "Nothing is lost and nothing counts twice. Start it again, when no other job writes there.",
                "LOCK_LOST",
            )

    def release(self) -> None:
        self._ended.set()
        if self._is_ours():
            self._files.remove(self._path)

    def _wait_for_its_end(self, seen: dict[str, Any]) -> None:
        """Until it shows no sign of life for long enough."""
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
                    f"Wait until it has ended, or end it. After a kill it bars for {STALE:.0f} s at most. "
                    "What is gathered already may be read meanwhile: mesh report --no-ingest.",
                    "IN_USE",
                )

    def _beat(self) -> None:
        while not self._ended.wait(BEAT):
            with suppress(Py4JError, OSError):  # a full disk, say: the job itself will tell
                if not self._is_ours():
                    return
                self._files.overwrite(self._path, self._sign())

    def _is_ours(self) -> bool:
        """Once it was another's, or was gone, it is not any more. One that is empty is being written."""
        if not self._lost:
            self._lost = self._taken(self._read())
        return not self._lost

    def _taken(self, seen: dict[str, Any] | None) -> str:
        """Why what is seen there is not ours; empty if it is."""
        if seen is None:
            return f"{self._path} is gone: somebody has deleted it"
        if seen.get("token", self._token) == self._token:
            return ""
        who = f"process {seen.get('pid')} on {seen.get('host')}, since {seen.get('since')}"
        return f"{who}, has taken its place, as it does when one stands still for longer than {STALE:.0f} s"

    def _sign(self) -> str:
        self._beats += 1
        who = {"pid": os.getpid(), "namespace": namespace(), "host": socket.gethostname()}
        return json.dumps({**who, "since": self._since, "token": self._token, "beats": self._beats})

    def _read(self) -> dict[str, Any] | None:
        """None, if there is none; empty, while it is written."""
        text = self._files.read(self._path)
        try:
            read = json.loads(text or "{}")
        except ValueError:
            read = {}
        return None if text is None else read if isinstance(read, dict) else {}


@contextmanager
def locked(files: Files, place: str) -> Iterator[Lock]:
    """While nobody else writes there."""
    lock = Lock(files, place)
    lock.acquire()
    try:
        yield lock
    finally:
        lock.release()


def namespace(boot_id: Path = BOOT_ID, pids: Path = PIDS) -> str:
    """Return where a process id of ours names a process: this boot of the kernel, and our PID namespace.

    Empty where the system does not say so. Two containers may have one host name, and the same process ids.
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
