"""Checks for free file descriptors, because ZeroMQ aborts a process that has none left."""

from __future__ import annotations

import errno
import os
import resource

from mesh.errors import DataDirRefused, LocalError

CODE = "NO_DESCRIPTORS"
CONTEXT = 16  # most descriptors of a ZeroMQ context and a connection
LOOP = 4  # descriptors of an event loop and a directory scan


def check_descriptors(needed: int) -> None:
    """Raise NO_DESCRIPTORS if this process cannot open `needed` more descriptors."""
    taken: list[int] = []
    try:
        while len(taken) < needed:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        raise of_system(error, "counting descriptors") from error
    finally:
        for each in taken:
            os.close(each)


def is_shortage(error: OSError) -> bool:
    """Return whether the system was out of descriptors, for this process or for all."""
    return error.errno in (errno.EMFILE, errno.ENFILE)


def of_system(error: OSError, what: str) -> LocalError:
    """Return the error to show for a system error. `what` describes the failed action."""
    if not is_shortage(error):
        hint = (
            "Check that the disk is mounted, and that this user may read that path." if error.filename else ""
        )
        return DataDirRefused(f"{what[:1].upper()}{what[1:]} failed: {error}.", hint=hint)
    if error.errno == errno.ENFILE:
        hint = "End programs that have many files open, or raise `sysctl fs.file-max`."
        return LocalError("This machine has too few file descriptors left.", hint=hint, code=CODE)
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    hint = "Close unused files, or raise the limit with `ulimit -n`."
    return LocalError(
        f"The process has too few file descriptors left; the limit is {allowed:,}.", hint=hint, code=CODE
    )
