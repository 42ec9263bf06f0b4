"""Single key presses on the terminal, without Enter."""

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager

QUIT = "q"


class Keyboard:
    """The keys of the terminal. `is_there` is False if there is no terminal."""

    def __init__(self, is_there: bool) -> None:
        self.is_there = is_there

    def next(self, seconds: float) -> str:
        """Return the next key, "" after `seconds` without one, or QUIT when the terminal is closed."""
        if not self.is_there:
            time.sleep(seconds)
            return ""
        readable, _, _ = select.select([sys.stdin], [], [], seconds)
        if not readable:
            return ""
        return os.read(sys.stdin.fileno(), 1).decode("latin-1") or QUIT


@contextmanager
def keyboard() -> Iterator[Keyboard]:
    """Yield a keyboard without echo or line mode, and restore the terminal afterwards. Ctrl-C still works."""
    if not sys.stdin.isatty():
        yield Keyboard(False)
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield Keyboard(True)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
