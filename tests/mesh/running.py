"""Real nodes in processes of their own, for tests of the whole: started, killed, started again.

    with running("a") as a, running("b", beside=a) as b:
        async with mesh.connect("b", environ=b.environ) as m: ...
        a.kill(); a.start()

Tests that use it are marked `@pytest.mark.slow`.
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
SHORT = 20  # characters of a path that leave enough for the names of sockets
PROGRAM = (sys.executable, "-m", "mesh")
ANEW = ("env",)  # `inside` of a node that is no fork of another process: what a shell starts
KNOWN: "weakref.WeakSet[RunningNode]" = weakref.WeakSet()  # who failed asks what these wrote


class RunningNode:
    """A `mesh up` process. `environ` lets clients and commands find it; `it` is its ready line.

    `inside` runs it, as `prlimit --nofile=64` does: a command that becomes the one behind it. Without that,
    and without a `program` of its own, it is a fork of a process that has loaded all that a node runs.
    """

    def __init__(
        self, name: str, state: Path, cluster: str, options: Sequence[str], inside: Sequence[str] = ()
    ) -> None:
        self.name, self.state, self.cluster = name, state, cluster
        self.environ = environment(state)
        self.it: dict[str, Any] = {}
        self.program: Sequence[str] = PROGRAM  # a test may put something before it
        self._options = options
        self._inside = inside
        self._log = state / f"{name}.log"
        self._kept = ""  # what its log had in it when it ended
        self._process: subprocess.Popen[str] | Forked | None = None
        KNOWN.add(self)

    @property
    def tcp(self) -> str:
        """Its address for peers; the same after a restart."""
        return str(self.it["tcp"][0])

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """All that it wrote to stderr, over every start."""
        return self._log.read_text() if self._log.exists() else self._kept

    def start(self, crashpoint: str = "") -> None:
        """Start it, with the data it had, and wait until it is ready. It may have to die at a point."""
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
        """kill -9; returns when it is gone."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """It stands still, and nobody is told."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._running().send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        return self._end(signal.SIGTERM)

    def wait(self) -> int:
        """Until it has ended by itself; returns the exit code."""
        process = self._running()
        code = process.wait(LIMIT)
        assert process.stdout is not None
        process.stdout.close()
        self._process = None
        self._kept = self.log
        return code

    def mesh(self, *arguments: str, content: str | bytes = b"") -> "subprocess.CompletedProcess[str]":
        """A command line beside it, which is a means here and not what is tested; `content` is its stdin."""
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
    """A node that is ready, in a mesh of its own or `beside` another; `options` go to `mesh up`.

    In the end it is stopped, and it must not have written a traceback.
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
    """A MESH_STATE_DIR with a path short enough for sockets; its nodes must end before it does.

    In the quick set it is in memory, unless it is `on_disk`.
    """
    base = os.environ[DISK] if on_disk and DISK in os.environ else tempfile.gettempdir()
    state = Path(tempfile.mkdtemp(prefix="mesh-", dir=base if len(base) <= SHORT else "/tmp"))
    try:
        yield state
    finally:
        shutil.rmtree(state)


def environment(state: Path) -> dict[str, str]:
    """For processes that shall know only this state directory, and no setting of whoever runs the tests.

    Without multicast DNS, which is slower to start; whoever tests that takes the setting out, or --mdns.
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
    """Exit code, stdout and stderr of one command line."""
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
    """The same with texts; a byte that belongs to none is shown."""
    texts = (text.decode("utf-8", "backslashreplace") for text in (result.stdout, result.stderr))
    return subprocess.CompletedProcess(result.args, result.returncode, *texts)


until = waiting.until
