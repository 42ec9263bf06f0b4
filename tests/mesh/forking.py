"""A helper process that starts nodes fast: it has loaded their modules, and forks each node.

Loading takes three quarters of a node's start. `Forked` is used as a Popen is. Its process is a child of this
process, too, which waits for it, signals and kills it by pid. The child has the environment, the directory
and the files that it was given. Run as a program, this file is the helper: `forking.py FD`. The helper ends
when the other end of that socket is closed.
"""

import atexit
import contextlib
import ctypes
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

LOADED = ("mesh.cli.main", "mesh.cli.up", "mesh.shell.starting", "mesh.store.sqlite", "mesh.client.client")
# Variables that a process reads before its first line, so a fork cannot change them.
EARLY = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "COVERAGE", "TZ")
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
PLACES = ("mnt", "net", "pid", "user", "uts")  # namespaces
_helpers: "dict[int, Helper]" = {}  # by owner's pid; each worker has its own
_lock = threading.Lock()


class Helper:
    """The helper process, as this process sees it."""

    def __init__(self, early: dict[str, str]) -> None:
        self.early, self.place = early, place()
        self._lock = threading.Lock()  # some tests start nodes in several threads
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            outer = {name: value for name, value in os.environ.items() if not name.startswith("MESH_")}
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={name: value for name, value in outer.items() if not name.startswith(EARLY)} | early,
            )

    def fork(
        self, arguments: Sequence[str], environ: Mapping[str, str], cwd: Path, files: Sequence[int]
    ) -> int:
        """Fork a process that becomes a child of this one, and return its pid."""
        asked = json.dumps([arguments, dict(environ), str(cwd)]).encode()
        with self._lock:
            adopt(True)
            try:
                socket.send_fds(self._line, [asked], files)
                pid, over = self._line.recv(64), self._line.recv(64)
            finally:
                adopt(False)
        assert over, "the helper of tests/mesh/forking.py has ended"
        return int(pid)

    def close(self) -> None:
        self._line.close()
        self._process.wait()


class Forked:
    """`mesh ARGUMENT…` in a process of its own, with these files as stdin, stdout and stderr."""

    stdout: IO[str] | None = None

    def __init__(
        self, arguments: Sequence[str], environ: Mapping[str, str], cwd: Path, files: Sequence[IO[Any]]
    ) -> None:
        self.args = arguments
        self.returncode: int | None = None
        self.pid = _helper(environ).fork(arguments, environ, cwd, [file.fileno() for file in files])
        self._pid = os.pidfd_open(self.pid)

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            readable, _, _ = select.select([self._pid], [], [], timeout)
            if not readable:
                raise subprocess.TimeoutExpired(list(self.args), timeout or 0.0)
            try:
                self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            except ChildProcessError:  # already waited for; Popen returns 0, too
                self.returncode = 0
            os.close(self._pid)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            signal.pidfd_send_signal(self._pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def piped(arguments: Sequence[str], environ: Mapping[str, str], cwd: Path, stderr: IO[str]) -> Forked:
    """Start a process whose `stdout` is a pipe and whose stdin is empty."""
    ours, theirs = os.pipe()
    with open(os.devnull, "rb") as stdin, os.fdopen(theirs, "wb") as stdout:
        forked = Forked(arguments, environ, cwd, [stdin, stdout, stderr])
    forked.stdout = os.fdopen(ours)
    return forked


def completed(
    arguments: Sequence[str], environ: Mapping[str, str], cwd: Path, content: bytes, timeout: float
) -> "subprocess.CompletedProcess[bytes]":
    """Run a process to its end, as subprocess.run does. `content` is its stdin."""
    with TemporaryFile() as stdin, TemporaryFile() as stdout, TemporaryFile() as stderr:
        stdin.write(content)
        stdin.seek(0)
        forked = Forked(arguments, environ, cwd, [stdin, stdout, stderr])
        try:
            code = forked.wait(timeout)
        finally:
            forked.kill()
            forked.wait()
        for file in (stdout, stderr):
            file.seek(0)
        return subprocess.CompletedProcess(arguments, code, stdout.read(), stderr.read())


def is_able(environ: Mapping[str, str]) -> bool:
    """Return whether a fork would equal `python -m mesh`, started now with this environment."""
    if sys.platform != "linux":
        return False
    helper = _helpers.get(os.getpid())
    return helper is None or (helper.early == _early(environ) and helper.place == place())


def place() -> list[str]:
    """Return what a child inherits from this thread: namespaces, users, signals and capabilities."""
    return [os.readlink(f"/proc/thread-self/ns/{name}") for name in PLACES] + [
        line
        for line in Path("/proc/thread-self/status").read_text().splitlines()
        if line.startswith(("Umask", "Uid", "Gid", "SigBlk", "SigIgn", "CapEff", "Cpus_allowed:"))
    ]


def adopt(is_wanted: bool) -> None:
    """Set whether this process becomes the parent of descendants whose own parent has ended."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(SUBREAPER, int(is_wanted), 0, 0, 0) == 0, os.strerror(ctypes.get_errno())


def _early(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(EARLY)}


def _helper(environ: Mapping[str, str]) -> Helper:
    with _lock:
        if os.getpid() not in _helpers:
            _helpers[os.getpid()] = Helper(_early(environ))
            atexit.register(close_helper)
        return _helpers[os.getpid()]


def close_helper() -> None:
    """End the helper of this process, if it has one."""
    if helper := _helpers.pop(os.getpid(), None):
        helper.close()


def serve(line: socket.socket) -> list[str]:
    """Fork a process for each request until the socket is closed. In the fork, return its arguments."""
    while True:
        said, files, _, _ = socket.recv_fds(line, 1 << 20, 3)
        if not said:
            os._exit(0)
        between = os.fork()  # exits at once, so the subreaper adopts the node
        if between == 0:
            pid = os.fork()
            if pid == 0:
                line.close()
                arguments, environ, cwd = json.loads(said)
                become(environ, cwd, files)
                return [*arguments]
            line.send(str(pid).encode())
            os._exit(0)
        os.waitpid(between, 0)
        for each in files:
            os.close(each)
        line.send(b"over")


def become(environ: Mapping[str, str], cwd: str, files: list[int]) -> None:
    """Take over the environment, the directory and the files of a request."""
    for number, each in enumerate(files):
        os.dup2(each, number)
        os.close(each)
    os.chdir(cwd)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environ)
    sys.path[0] = cwd


if __name__ == "__main__":
    for name in LOADED:
        import_module(name)
    assert len(os.listdir("/proc/self/task")) == 1, "what a thread holds would be held for ever in a fork"
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the helper without a traceback
    gc.collect()
    gc.freeze()  # keeps the shared memory unwritten
    sys.argv[1:] = serve(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("mesh", run_name="__main__", alter_sys=True)
