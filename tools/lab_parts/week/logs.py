"""How is a log kept small that a program only ever appends to? As logrotate does it with `copytruncate`."""

import os
import shutil
from pathlib import Path


def rotate(path: Path, limit: int, keep: int) -> bool:
    """If it is larger than `limit` bytes, copy it to PATH.1, that one to PATH.2, to PATH.keep, and empty it.

    Whoever writes into it goes on at its beginning, as it was opened to append. Was it done?
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
    """The copies that there may be, the oldest first, and the log itself."""
    return [*(copy_of(path, number) for number in range(keep, 0, -1)), path]
