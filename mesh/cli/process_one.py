"""The duties of process 1 in a container: pass on signals, and reap orphaned children."""

import os
import signal
from contextlib import suppress
from typing import NoReturn


def leave_to_child() -> None:
    """As process 1, return in a child only: this process passes on its signals, and ends as the child does.

    The child so has none of the special rules for process 1, and the orphans of the container become no
    zombies. Call it before any thread is started.
    """
    if os.getpid() == 1:
        fork_and_wait()


def fork_and_wait() -> None:
    """Return in a child; in this process never. What dies here is waited for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if it is ignored, nobody is notified of the child's end
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    child = os.fork()
    if child:
        _wait(child)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(child: int) -> NoReturn:
    while True:
        caught = signal.sigwaitinfo(signal.valid_signals())
        if caught.si_signo == signal.SIGCHLD:
            _reap(child)
        elif caught.si_code <= 0:  # what the terminal sends has reached the child, too
            with suppress(ProcessLookupError):
                os.kill(child, caught.si_signo)


def _reap(child: int) -> None:
    """Wait for all that have ended; exit if `child` has."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                code = os.waitstatus_to_exitcode(ended[1])
                os._exit(code if code >= 0 else 128 - code)
