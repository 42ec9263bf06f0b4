"""Commands that run in sessions of their own, and end with the check."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

MARK = "HERONRY_CHECK"  # environment variable of all processes of a check
POLITE = 2.5  # s from SIGINT to SIGKILL


class Command:
    """A running command.

    Its output goes to a file, from which `output` returns it; with `shows`, it goes to the terminal.
    """

    def __init__(
        self, words: Sequence[str], environ: Mapping[str, str], fds: Sequence[int] = (), shows: bool = False
    ) -> None:
        self.words = tuple(words)
        self._output = None if shows else tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            self.words,
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT if self._output else None,
            pass_fds=fds,
            start_new_session=True,
        )

    def wait(self) -> int:
        return self._process.wait()

    def output(self) -> str:
        """Return the output of the ended command; with `shows`, an empty text."""
        if self._output is None:
            return ""
        self._output.seek(0)
        return self._output.read().decode("utf-8", "replace")

    def interrupt(self) -> None:
        """Send SIGINT to the command and all its children."""
        self._signal(signal.SIGINT)

    def end(self) -> None:
        """Kill the command if it has not ended within `POLITE` seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(POLITE)
        self._signal(signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        if self._output is not None:
            self._output.close()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


class Commands:
    """The commands of one check, which can end together.

    The class is a context manager, which closes their outputs.
    """

    def __init__(self) -> None:
        self._mark = secrets.token_hex(8)
        self._running: list[Command] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for command in self._running:
            command.close()

    def start(
        self, words: Sequence[str], *, fds: Sequence[int] = (), shows: bool = False, **more: str
    ) -> Command:
        command = Command(words, {**more, MARK: self._mark}, fds, shows)
        self._running.append(command)
        return command

    def stop(self) -> None:
        """Interrupt all commands, kill the rest after a while, and remove scratch directories."""
        for command in self._running:
            command.interrupt()
        for command in self._running:
            command.end()
        self.end_remaining()
        remove_scratch()

    def end_remaining(self) -> list[str]:
        """Kill processes that outlived their command, wait for their end, and return their command lines."""
        found = dict[int, str]()
        while left := _marked(self._mark):
            found |= left
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        return list(found.values())


def _marked(mark: str) -> dict[int, str]:
    """Return the command lines of the processes of the check: those with `mark` in their environment."""
    needle, found = f"{MARK}={mark}\0".encode(), dict[int, str]()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile, or of another user
            if needle in (place / "environ").read_bytes():
                words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if words:  # a zombie has none
                    found[int(place.name)] = words.strip()
    return found


def remove_scratch() -> None:
    """Remove the scratch directories of test runs that were killed (tests/leftovers.py makes them)."""
    for root in {Path("/dev/shm"), Path("/tmp"), Path(tempfile.gettempdir())}:
        for owner in root.glob("h-*/.pid"):
            with contextlib.suppress(OSError, ValueError):
                if not Path("/proc", str(int(owner.read_text()))).exists():
                    shutil.rmtree(owner.parent)


def cpu() -> float:
    """Return the seconds of CPU of this process and of its ended children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
