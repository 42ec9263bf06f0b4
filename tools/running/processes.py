"""Starts, awaits and reliably ends other programs."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import FrameType, TracebackType

ROOT = Path(__file__).resolve().parents[2]
LOOK = 0.05  # s between checks of a condition
GRACE = 3.0  # s that a program may take to end
LONGEST_TEMP = 40  # most characters of a temporary path, for sockets

# Law 1: a signal only sets a flag. If the handler raised, a program that was just started could be lost.


class Interrupted(Exception):
    """Ctrl-C, or another signal to end."""


class Failed(Exception):
    """A condition was not met in time, or a program failed."""


class Program:
    """A process, with its stdout and stderr in files.

    `out` has the output of the last start under the same name, and `err` that of all of them.
    """

    def __init__(self, name: str, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self.name, self.pid = name, process.pid
        self.out, self.err = out, err
        self._process = process

    def ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll()

    def signal(self, number: int) -> None:
        if not self.ended():
            self._process.send_signal(number)

    def kill(self) -> None:
        """Kill the program and its children: each program is a process group."""
        if not self.ended():
            os.killpg(self.pid, signal.SIGKILL)

    def words(self) -> str:
        """Return the last 1,000 characters of the program's stderr."""
        return self.err.read_text(errors="replace").strip()[-1000:]


class Processes:
    """A temporary directory, and the programs that use it.

    An instance handles SIGINT, SIGTERM and SIGHUP: they set `interrupted`. Leaving the context ends the
    programs and removes the directory.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self._programs: list[Program] = []
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._interrupt)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True

    def __enter__(self) -> "Processes":
        base = tempfile.gettempdir()
        self.place = Path(
            tempfile.mkdtemp(prefix="mesh-demo-", dir=base if len(base) < LONGEST_TEMP else "/tmp")
        )
        self.cluster = f"demo-{secrets.token_hex(4)}"
        # No configuration of the user applies.
        outer = {name: value for name, value in os.environ.items() if not name.startswith("MESH_")}
        place = str(self.place)
        self._environ = {
            **outer,
            "MESH_STATE_DIR": place,
            "XDG_CONFIG_HOME": place,
            "TMPDIR": place,
            "PYTHONPATH": str(ROOT),
        }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for end in (lambda program: program.signal(signal.SIGTERM), Program.kill):
            for program in self._programs:
                end(program)
            limit = time.monotonic() + GRACE
            while not all(program.ended() for program in self._programs) and time.monotonic() < limit:
                time.sleep(LOOK)
        shutil.rmtree(self.place)

    def start(self, name: str, *arguments: str, inside: Sequence[str] = ()) -> Program:
        """Start `python -m` with `arguments`, out of reach of a Ctrl-C at the terminal.

        `inside` is a command prefix, which is replaced by that command.
        """
        return self.launch(name, *inside, sys.executable, "-m", *arguments)

    def launch(self, name: str, *command: str) -> Program:
        """Start any command in the same way."""
        out, err = self.place / f"{name}.out", self.place / f"{name}.err"
        with out.open("wb") as out_file, err.open("ab") as err_file:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out_file,
                stderr=err_file,
                env=self._environ,
                cwd=self.place,
                start_new_session=True,
            )
        program = Program(name, process, out, err)
        self._programs = [p for p in self._programs if not p.ended()] + [program]
        return program

    def run(self, name: str, *arguments: str, limit: float = 30.0) -> Program:
        """Run a program to its end, whatever its exit code. Raises Failed after `limit` seconds."""
        program = self.start(name, *arguments)
        self.until(program.ended, limit, f"{name} did not end")
        return program

    def end_all_but(self, pids: Collection[int]) -> None:
        self.end([program for program in self._programs if program.pid not in pids])

    def end(self, programs: list[Program], number: int = signal.SIGTERM) -> None:
        """Send a signal, and wait until the programs have ended. Raises Failed after 30 s."""
        for program in programs:
            program.signal(number)
        names = ", ".join(program.name for program in programs)
        self.until(lambda: all(p.ended() for p in programs), 30.0, f"not all of {names} ended")

    def until(
        self,
        condition: Callable[[], object],
        limit: float,
        failure: str,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        """Wait for a condition, and call `meanwhile` after each check.

        Raises Failed after `limit` seconds, or Interrupted on a signal.
        """
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() >= end:
                raise Failed(f"{failure} within {limit:g} s.")
            self.pause(LOOK)
            if meanwhile is not None:
                meanwhile()

    def pause(self, seconds: float) -> None:
        """Sleep for `seconds`. Raises: Interrupted, immediately on a signal."""
        end = time.monotonic() + seconds
        while not self.interrupted and time.monotonic() < end:
            time.sleep(min(LOOK, max(0.0, end - time.monotonic())))
        if self.interrupted:
            raise Interrupted
