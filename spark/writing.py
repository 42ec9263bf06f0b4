"""Atomic output of result files."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from mesh.history.errors import SparkJobError


def check(path: Path, option: str) -> None:
    """Check before a long job that the file can be written. Raises: SparkJobError CANNOT_WRITE."""
    why = (
        "it is a directory"
        if path.is_dir()
        else "the directory does not exist"
        if not path.parent.is_dir()
        else "permission denied"
        if not os.access(path.parent, os.W_OK)
        else ""
    )
    if why:
        raise _refused(path, why, option)


def write(path: Path, text: str, option: str) -> None:
    """Replace the file atomically. Raises: SparkJobError CANNOT_WRITE."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise _refused(path, error.strerror or str(error), option) from error


def _refused(path: Path, why: str, option: str) -> SparkJobError:
    return SparkJobError(
        f"{path} cannot be written: {why}.", f"Name another file:  {option} FILE", "CANNOT_WRITE"
    )
