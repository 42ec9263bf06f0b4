"""The folder for temporary files of tests and simulations, which need not survive a power failure."""

from __future__ import annotations

import os
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 16 << 20  # bytes that a simulation or a fuzzer needs


def memory_directory(room: int = ROOM, place: Path = MEMORY, has_programs: bool = False) -> Path | None:
    """Return a directory in memory with `room` bytes free, or `None`.

    With `has_programs`, the directory must allow execution.
    """
    if not os.access(place, os.W_OK):
        return None
    state = os.statvfs(place)
    is_good = state.f_bavail * state.f_frsize > room
    if has_programs and state.f_flag & os.ST_NOEXEC:
        return None
    return place if is_good else None
