"""Real nodes as processes, for tests that start, kill and restart them.

    with running("a") as a, running("b", beside=a) as b:
        async with mesh.connect("b", environ=b.environ) as m: ...
        a.kill(); a.start()

Tests that use this module are marked `@pytest.mark.slow`.
"""

import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import waiting
from tests.leftovers import DISK
from tests.mesh import forking
from tests.mesh.forking import Forked, completed, piped

LIMIT = waiting.LIMIT
SHORT = 20  # characters of a base directory; socket paths are short
PROGRAM = (sys.executable, "-m", "mesh")
ANEW = ("env",)  # as `inside`: a new process instead of a fork
KNOWN: "weakref.WeakSet[RunningNode]" = weakref.WeakSet()  # nodes whose logs a failed test shows


class RunningNode:
    """A `mesh up` process, which a test may start, stop and kill repeatedly.

    `environ` lets clients and commands find the node. `it` is its parsed ready line. `inside` is a command
    that runs the node in its own process, as `prlimit --nofile=64` does. Without `inside` and without a
    `program` of its own, the node is forked from a process that has loaded all its modules.
    """

    def __init__(
        self, name: str, state: Path, cluster: str, options: Sequence[str], inside: Sequence[str] = ()
    ) -> None:
        self.name, self.state, self.cluster = name, state, cluster
        self.environ = environment(state)
        self.it: dict[str, Any] = {}
        self.program: Sequence[str] = PROGRAM  # a test may add a prefix
        self._options = options
        self._inside = inside
        self._log = state / f"{name}.log"
        self._kept = ""  # text of the log when the process ended
        self._process: subprocess.Popen[str] | Forked | None = None
        KNOWN.add(self)

    @property
    def tcp(self) -> str:
        """The node's TCP address for peers, the same after a restart."""
        return str(self.it["tcp"][0])

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """The node's stderr, over all starts."""
        return self._log.read_text() if self._log.exists() else self._kept

    def start(self, crashpoint: str = "") -> None:
        """Start the node with its existing data, and wait until it is ready.

        With a `crashpoint`, the process dies when it reaches that point.
        """
        assert not self.is_running
        dying = {"MESH_CRASHPOINT": crashpoint} if crashpoint else {}
        arguments = ["up", "--json", "--id", self.name, "--cluster", self.cluster, *self._options]
        environ = {**self.environ, **dying}
        is_plain = not self._inside and tuple(self.program) == PROGRAM
        with self._log.open("a") as log:
            if is_plain and forking.is_able(environ):
                self._process = piped(arguments, environ, self.state, log)
            else:
                self._process = subprocess.Popen(
                    [*self._inside, *self.program, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=environ,
                    cwd=self.state,
                    text=True,
                )
        self.it = json.loads(self._ready_line())

    def kill(self) -> None:
        """Send SIGKILL, and wait until the process has ended."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Suspend the process with SIGSTOP. Its peers receive no notice."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._running().send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """Send SIGTERM, wait until the process has ended, and return the exit code."""
        return self._end(signal.SIGTERM)

    def wait(self) -> int:
        """Wait until the process has ended, and return the exit code."""
        process = self._running()
        code = process.wait(LIMIT)
        assert process.stdout is not None
        process.stdout.close()
        self._process = None
        self._kept = self.log
        return code

    def mesh(self, *arguments: str, content: str | bytes = b"") -> "subprocess.CompletedProcess[str]":
        """Run `mesh ARGUMENTS` in the node's environment; the command itself is not under test.

        `content` is its stdin. The command is forked where possible, which is faster than a new process.
        """
        if not forking.is_able(self.environ):
            return run_mesh(*arguments, environ=self.environ, content=content)
        return told(completed(arguments, self.environ, self.state, encoded(content), 2 * LIMIT))

    def _end(self, number: signal.Signals) -> int:
        process = self._running()
        process.send_signal(number)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            process.kill()
            self.wait()
            raise

    def _running(self) -> "subprocess.Popen[str] | Forked":
        assert self._process is not None, f"node {self.name} does not run"
        return self._process

    def _ready_line(self) -> str:
        stdout = self._running().stdout
        assert stdout is not None
        readable, _, _ = select.select([stdout], [], [], LIMIT)
        line = stdout.readline() if readable else ""
        if not line:
            self.kill()
            raise AssertionError(f"node {self.name} did not get ready. It said:\n{self.log}")
        return line


@contextmanager
def running(
    name: str = "heron",
    *,
    beside: RunningNode | None = None,
    options: Sequence[str] = (),
    inside: Sequence[str] = (),
) -> Iterator[RunningNode]:
    """Run a node during the block, in a mesh of its own or in that of `beside`.

    `options` go to `mesh up`. The node is ready when the block begins. At the end it is stopped, and it must
    not have logged a traceback.
    """
    if beside is None:
        with state_directory(on_disk=True) as state:
            yield from _run(RunningNode(name, state, f"test-{secrets.token_hex(4)}", options, inside))
    else:
        peer = ("--peer", beside.tcp)
        yield from _run(RunningNode(name, beside.state, beside.cluster, (*peer, *options), inside))


def _run(node: RunningNode) -> Iterator[RunningNode]:
    try:
        node.start()
        yield node
    finally:
        if node.is_running:
            node.stop()
    assert "Traceback" not in node.log, node.log


@contextmanager
def state_directory(on_disk: bool = False) -> Iterator[Path]:
    """Create a MESH_STATE_DIR with a path short enough for sockets, and remove it after the block.

    Nodes that use the directory must end first. In the quick set it is in memory, unless it is `on_disk`.
    """
    base = os.environ[DISK] if on_disk and DISK in os.environ else tempfile.gettempdir()
    state = Path(tempfile.mkdtemp(prefix="mesh-", dir=base if len(base) <= SHORT else "/tmp"))
    try:
        yield state
    finally:
        shutil.rmtree(state)


def environment(state: Path) -> dict[str, str]:
    """Return the environment of processes that know only this state directory.

    Mesh settings of the person who runs the tests are removed. Multicast DNS is off, because it slows the
    start; a test of it removes that setting or uses --mdns.
    """
    outer = {name: value for name, value in os.environ.items() if not name.startswith("MESH_")}
    return {
        **outer,
        "MESH_STATE_DIR": str(state),
        "XDG_CONFIG_HOME": str(state),
        "MESH_DISCOVERY__MDNS": "false",
    }


def run_mesh(
    *arguments: str, environ: Mapping[str, str], content: str | bytes = b""
) -> "subprocess.CompletedProcess[str]":
    """Run one command line as a new process. Return its exit code, stdout and stderr."""
    result = subprocess.run(
        [*PROGRAM, *arguments],
        input=encoded(content),
        env=dict(environ),
        capture_output=True,
        timeout=2 * LIMIT,
        cwd=environ["MESH_STATE_DIR"],
    )
    return told(result)


def encoded(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def told(result: "subprocess.CompletedProcess[bytes]") -> "subprocess.CompletedProcess[str]":
    """Decode the output of a command. Invalid UTF-8 bytes become backslash escapes."""
    texts = (text.decode("utf-8", "backslashreplace") for text in (result.stdout, result.stderr))
    return subprocess.CompletedProcess(result.args, result.returncode, *texts)


until = waiting.until
