"""Small and broken disks for tests. A test is skipped, with the reason, where the machine has none."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path

import pytest

from mesh.operations import Image
from mesh.store.opening import open_guarded
from tests.mesh.store.images import loaded

ME = b"m" * 16
BOOTS = count(2)  # unique, and not the boot of committing.py


@contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """Mount a disk of this size, such as "4m", and yield its directory."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    place = Path(tempfile.mkdtemp(prefix="mesh-disk-", dir="/tmp"))
    try:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(place)]
        if subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("this root may not mount a small disk")
        try:
            yield place
        finally:
            subprocess.run(["umount", "-l", place], check=True)
    finally:
        place.rmdir()


def fill_up(place: Path) -> Path:
    """Fill the disk with a file, and return the file."""
    file = place / "somebody-else"
    with file.open("wb", buffering=0) as out:
        for piece in (1 << 16, 1 << 12, 1):
            try:
                while out.write(bytes(piece)) == piece:
                    pass
            except OSError:
                pass
    return file


def failing(inject: str) -> list[str]:
    """Return a command prefix under which a system call fails: "fsync,fdatasync:error=EIO:when=7"."""
    if not _can_trace():
        pytest.skip("strace is not here, or may not trace")
    calls = inject.partition(":")[0]
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={inject}"]


@cache
def _can_trace() -> bool:
    strace = shutil.which("strace")
    trial = ["-qq", "-o", "/dev/null", "-e", "inject=fsync:error=EIO", "true"]
    return strace is not None and subprocess.run([strace, *trial], capture_output=True).returncode == 0


def load(directory: Path, accept: bool = False) -> tuple[Image, int]:
    """Open the store as a starting node does. Return its image and its commits. Raises: StoreError."""
    store = open_guarded(directory, ME, next(BOOTS), 0, lambda level, text: None, accept)
    try:
        return loaded(store), store.reach.commits
    finally:
        store.close()
