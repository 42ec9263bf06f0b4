"""The text that is sent, and its lines."""

import os
import sysconfig
from pathlib import Path

MOST_LINES, MOST_BYTES = 20_000, 8 * 1024 * 1024  # a longer file is cut
LONGEST_LINE = 1024 * 1024  # bytes; a line is one message


class UnfitText(Exception):
    """The file is unreadable, or has no lines that can be sent."""


def default_text() -> Path:
    """Return a text on this machine: a license, or else a file of Python's library."""
    candidates = (
        Path("/usr/share/common-licenses/GPL-3"),
        Path(sysconfig.get_path("stdlib")) / "LICENSE.txt",
        Path(os.__file__),
    )
    return next((path for path in candidates if os.access(path, os.R_OK)), candidates[-1])


def lines_of(path: Path) -> list[bytes]:
    """Return the lines without their line ends, at most MOST_LINES of the first MOST_BYTES.

    Raises UnfitText with the reason.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UnfitText(f"{path}: {error.strerror}.") from error
    lines = content.removesuffix(b"\n").split(b"\n")[:MOST_LINES]
    if len(content) > MOST_BYTES and len(lines) < MOST_LINES:
        del lines[-1]  # perhaps incomplete
    if not content or not lines or max(map(len, lines)) > LONGEST_LINE:
        raise UnfitText(f"{path}: no lines of at most 1 MiB in it; give another one with --file FILE.")
    return lines
