"""Rotation of append-only logs, as logrotate does it with `copytruncate`."""

import os
import shutil
from pathlib import Path


def rotate(path: Path, limit: int, keep: int) -> bool:
    """Rotate a log of more than `limit` bytes, and return whether it was rotated.

    PATH is copied to PATH.1 and emptied, PATH.1 is moved to PATH.2, and so on to PATH.keep. Writers continue
    at the beginning of PATH, because they opened it to append.
    """
    if not path.exists() or path.stat().st_size <= limit:
        return False
    for number in range(keep, 1, -1):
        if (younger := copy_of(path, number - 1)).exists():
            younger.replace(copy_of(path, number))
    shutil.copy2(path, copy_of(path, 1))
    os.truncate(path, 0)
    return True


def copy_of(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def all_of(path: Path, keep: int) -> list[Path]:
    """Return the possible copies, the oldest first, and the log itself."""
    return [*(copy_of(path, number) for number in range(keep, 0, -1)), path]
