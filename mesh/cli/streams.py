"""Repairs standard streams that the parent process closed or misconfigured."""

import io
import os
import sys
from collections.abc import Callable
from typing import TextIO

from mesh.errors import BadArgument


def mend_streams() -> None:
    """Open closed streams on /dev/null, read stdin as UTF-8, and escape characters that stdout cannot encode.

    Otherwise the next file or socket would get the number of a closed stream, and receive its output.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free number: this one
        if getattr(sys, name) is None:
            stream = open(number, mode, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")


def read_text(read: Callable[[TextIO], str]) -> str:
    """Return the result of `read` on stdin. Raises: BadArgument if stdin is not UTF-8."""
    try:
        return read(sys.stdin)
    except UnicodeDecodeError:
        raise BadArgument(
            "stdin is not UTF-8 text.", hint="Check the input, or convert it with iconv."
        ) from None
