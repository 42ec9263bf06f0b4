"""Checks whether a directory could be used or created, without leaving a trace."""

import os
from pathlib import Path

from mesh.local.datadir import kept_identity, try_lock
from mesh.local.private import private_directory, refused

_OTHER = "Choose another place."


def could_open(data: Path) -> bool:
    """Return whether a process has locked the data directory, which may be missing.

    Raises: DataDirRefused if no node could use or create it.
    """
    if not data.exists():
        could_write(data)
        return False
    private_directory(data, _OTHER)
    try:
        could_write(data)
        lock = try_lock(data) if (data / "lock").exists() else -1
        if lock is None:
            return True
        if lock >= 0:
            os.close(lock)
        kept_identity(data)
    except OSError as error:
        raise refused(data, error, _OTHER) from error
    return False


def could_write(directory: Path) -> None:
    """Check that a directory could be created and written to. Raises: DataDirRefused."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    made: list[Path] = []
    try:
        for path in reversed(missing):
            path.mkdir(mode=0o700)
            made.append(path)
        with (directory / f".try-{os.getpid()}").open("xb") as file:
            os.unlink(file.name)
    except OSError as error:
        raise refused(directory, error, _OTHER) from error
    finally:
        for path in reversed(made):
            path.rmdir()
