"""One run of the tests: a scratch directory of its own, and nothing left behind at its end.

All processes that the tests start inherit `MARK` in their environment, so those that outlive the run are
found.
"""

import contextlib
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

from tools.running.scratch import memory_directory

MARK = "HERONRY_TESTS"
DISK = "HERONRY_TESTS_DISK"  # names a scratch directory on a real disk, for the data of node processes
ROOM = 1 << 30  # bytes free that a scratch directory in memory needs
LONGEST = 24  # characters of the directory that holds the scratch directory; sockets have 107 for their path
OWNER = ".pid"  # file with the pid of the run; `tools/check` removes the directory of a run that was killed
HOMES = ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")  # of a user who has nothing yet
HOME = "home"  # directory with these
PATIENCE = 10.0  # s in which the last processes may end by themselves
KEPT = "pytest-of-"  # directory of pytest, which holds what failed tests wrote


def disk_root() -> Path:
    """Return TMPDIR if its path is short enough for sockets, else /tmp."""
    given = Path(tempfile.gettempdir())
    return given if len(str(given)) <= LONGEST else Path("/tmp")


def make_scratch(root: Path) -> Path:
    scratch = Path(tempfile.mkdtemp(prefix="h-", dir=root))
    scratch.chmod(0o755)  # tests of other users pass through it
    (scratch / OWNER).write_text(str(os.getpid()))
    return scratch


class Leftovers:
    """Plugin of the first process: makes the scratch directories, and looks at the end for what is left.

    Most quick tests need no real disk: with `prefers_memory` they write to memory. Node processes have one.
    """

    def __init__(self, prefers_memory: bool) -> None:
        self._pid = os.getpid()
        self._mark = secrets.token_hex(6)
        self._outer = {name: os.environ.get(name) for name in ("TMPDIR", MARK, DISK, *HOMES)}
        disk = make_scratch(disk_root())
        memory = memory_directory(ROOM, has_programs=True) if prefers_memory else None
        self.scratch = make_scratch(memory) if memory else disk
        self._all = {self.scratch, disk}
        os.environ.update({"TMPDIR": str(self.scratch), MARK: self._mark, DISK: str(disk)})
        os.environ.update({name: str(self.scratch / HOME / name) for name in HOMES})
        tempfile.tempdir = str(self.scratch)
        self._left: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if os.getpid() != self._pid:  # a worker
            return
        if forking := sys.modules.get("tests.mesh.forking"):
            forking.close_helper()
        resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]  # it ends with this process
        self._left = [*self._processes(), *self._files()]
        if self._left and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._left:
            terminalreporter.section("left behind by the tests", red=True, bold=True)
            for line in self._left:
                terminalreporter.line(line)

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Remove the scratch directories. What failed tests wrote stays."""
        if os.getpid() != self._pid:
            return
        kept = [path for path in self.scratch.glob(f"{KEPT}*/*/*") if not path.is_symlink()]
        is_inner = self._outer[MARK] is not None  # a run that a test starts
        if kept and not is_inner:
            print(f"Failed tests left their files in {self.scratch}")
        else:
            for scratch in self._all:
                shutil.rmtree(scratch, ignore_errors=True)
        for name, value in self._outer.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        tempfile.tempdir = None

    def _processes(self) -> list[str]:
        """Return the processes that do not end by themselves, and kill them."""
        end = time.monotonic() + PATIENCE
        while (found := self._marked()) and time.monotonic() < end:
            time.sleep(0.1)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return [f"process {pid}: {words}" for pid, words in found.items()]

    def _marked(self) -> dict[int, str]:
        needle, found = f"{MARK}={self._mark}".encode(), {}
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has just ended, or belongs to another user
                if needle in (place / "environ").read_bytes().split(b"\0"):
                    words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                    found[int(place.name)] = words.strip()
        found.pop(self._pid, None)
        return {pid: words for pid, words in found.items() if words}  # a zombie has no command line

    def _files(self) -> list[str]:
        paths = [path for scratch in self._all for path in scratch.iterdir()]
        return [f"file {path}" for path in paths if not path.name.startswith((KEPT, OWNER, HOME))]
