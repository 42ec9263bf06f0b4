"""Scratch directories of a test run, and a check that the run leaves nothing behind.

All processes that the tests start inherit `MARK` in their environment. Processes that outlive the run are
found by that mark.
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

from tests.waiting import lag
from tools.running.scratch import memory_directory

MARK = "HERONRY_TESTS"
DISK = "HERONRY_TESTS_DISK"  # names a scratch directory on a real disk, for the data of node processes
ROOM = 1 << 30  # free bytes that a scratch directory in memory needs
LONGEST = 24  # characters of the parent directory; socket paths have 107
OWNER = ".pid"  # pid file; `tools/check` removes directories of killed runs
HOMES = ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")  # set to paths below `HOME`
HOME = "home"  # directory for `HOMES`
PATIENCE = 10.0  # s for the last processes to end
KEPT = "pytest-of-"  # prefix of pytest's directory with files of tests


def disk_root() -> Path:
    """Return TMPDIR if its path is short enough for sockets, else /tmp."""
    given = Path(tempfile.gettempdir())
    return given if len(str(given)) <= LONGEST else Path("/tmp")


def make_scratch(root: Path) -> Path:
    scratch = Path(tempfile.mkdtemp(prefix="h-", dir=root))
    scratch.chmod(0o755)  # tests that run as other users enter it
    (scratch / OWNER).write_text(str(os.getpid()))
    return scratch


class Leftovers:
    """Plugin of the first process: creates the scratch directories, and reports leftovers at the end.

    With `prefers_memory` the tests write to memory, because most quick tests need no real disk. Node
    processes always use a real disk.
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
        resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]  # else it is found
        self._left = [*self._processes(), *self._files()]
        if self._left and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._left:
            terminalreporter.section("left behind by the tests", red=True, bold=True)
            for line in self._left:
                terminalreporter.line(line)

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Remove the scratch directories, unless failed tests left files there."""
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
        left = PATIENCE
        while (found := self._marked()) and left > 0:
            time.sleep(0.1)
            left -= 0.1 / lag()
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return [f"process {pid}: {words}" for pid, words in found.items()]

    def _marked(self) -> dict[int, str]:
        needle, found = f"{MARK}={self._mark}".encode(), {}
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # the process ended, or belongs to another user
                if needle in (place / "environ").read_bytes().split(b"\0"):
                    words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                    found[int(place.name)] = words.strip()
        found.pop(self._pid, None)
        return {pid: words for pid, words in found.items() if words}  # a zombie has no command line

    def _files(self) -> list[str]:
        paths = [path for scratch in self._all for path in scratch.iterdir()]
        return [f"file {path}" for path in paths if not path.name.startswith((KEPT, OWNER, HOME))]
