"""The duties of process 1 in a container: passing on signals, and reaping orphaned children."""

import os
import signal
from contextlib import suppress
from typing import NoReturn


def leave_to_child() -> None:
    """Fork if this is process 1, and return in the child; the parent passes on signals and the exit code.

    The child then has none of the special rules for process 1, and orphans in the container do not become
    zombies. The call must come before any thread starts.
    """
    if os.getpid() == 1:
        fork_and_wait()


def fork_and_wait() -> None:
    """Fork, and return in the child only. The parent reaps all processes that end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an ignored SIGCHLD would not be sent
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
        elif caught.si_code <= 0:  # the terminal signals the child directly
            with suppress(ProcessLookupError):
                os.kill(child, caught.si_signo)


def _reap(child: int) -> None:
    """Reap all children that have ended. Exit if `child` is one of them."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                code = os.waitstatus_to_exitcode(ended[1])
                os._exit(code if code >= 0 else 128 - code)
