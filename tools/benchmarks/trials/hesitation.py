"""Slows a program down by stopping and continuing it."""

from signal import SIGCONT, SIGSTOP
from threading import Event, Thread
from types import TracebackType

from tools.running.processes import Program


class Hesitation:
    """A context in which a program is stopped for `stopped` s of every `every` s.

    The program runs when the context ends, even after an error.
    """

    def __init__(self, program: Program, stopped: float, every: float) -> None:
        self.times = 0
        self._program = program
        self._stopped, self._running = stopped, every - stopped
        self._is_over = Event()
        self._thread = Thread(target=self._run, name="hesitation", daemon=True)

    def __enter__(self) -> "Hesitation":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._is_over.wait(self._running):
                self._program.signal(SIGSTOP)
                self.times += 1
                self._is_over.wait(self._stopped)
                self._program.signal(SIGCONT)
        finally:
            self._program.signal(SIGCONT)
