"""Which key was pressed? Without waiting for Enter, where stdin is a terminal."""

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
    """The keys that are pressed. `is_there`: can any key be pressed at all?"""

    def __init__(self, is_there: bool) -> None:
        self.is_there = is_there

    def next(self, seconds: float) -> str:
        """The next key, or "" if none was pressed in that time. QUIT also when the terminal is gone."""
        if not self.is_there:
            time.sleep(seconds)
            return ""
        readable, _, _ = select.select([sys.stdin], [], [], seconds)
        if not readable:
            return ""
        return os.read(sys.stdin.fileno(), 1).decode("latin-1") or QUIT


@contextmanager
def keyboard() -> Iterator[Keyboard]:
    """Keys come one by one and are not shown; the terminal is given back as it was. Ctrl-C stays Ctrl-C."""
    if not sys.stdin.isatty():
        yield Keyboard(False)
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield Keyboard(True)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
