"""Can a verb use the standard streams, whatever the program that started it has done with them?"""

import io
import os
import sys
from collections.abc import Callable
from typing import TextIO

from mesh.errors import BadArgument


def mend_streams() -> None:
    """Have closed streams lead to /dev/null, stdin be UTF-8, and what stdout's encoding lacks be escaped.

    Else the next file or socket that is opened would get the number of a closed stream, and be written to.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number: this one
        if getattr(sys, name) is None:
            stream = open(number, mode, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")


def read_text(read: Callable[[TextIO], str]) -> str:
    """Return what `read` reads of stdin. Raises: BadArgument when it is not UTF-8."""
    try:
        return read(sys.stdin)
    except UnicodeDecodeError:
        raise BadArgument("stdin is not text in UTF-8.", hint="Convert it, such as with iconv.") from None
