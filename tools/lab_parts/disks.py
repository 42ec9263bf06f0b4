"""Small disks for nodes, in memory, which are filled during a run.

Mounting them needs root.
"""

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

SIZE = "64m"
FREE = 8 * 1024 * 1024  # bytes that its node keeps free
SEGMENTS = 4 * 1024 * 1024  # bytes of its snapshots
PIECES = (1 << 16, 1 << 12, 1)  # bytes per write; the last leaves no space


class SmallDisk:
    """A disk with the data directory of one node."""

    inside = (
        "env",
        f"MESH_LIMITS__DISK_RESERVE_BYTES={FREE}",
        f"MESH_SNAPSHOTS__LIMIT_BYTES={SEGMENTS}",
    )  # command prefix with settings for its size

    def __init__(self, place: Path) -> None:
        self._place = place
        self._filler = place / "filler"

    @property
    def options(self) -> Sequence[str]:
        return ("--data", str(self._place / "data"))

    def fill(self) -> None:
        """Fill the disk to the last byte."""
        with self._filler.open("ab", buffering=0) as file:
            for size in PIECES:
                with suppress(OSError):
                    while file.write(bytes(size)) == size:
                        pass

    def empty(self) -> None:
        self._filler.unlink(missing_ok=True)


@contextmanager
def disks_of(names: Sequence[str]) -> Iterator[Mapping[str, SmallDisk]]:
    """Mount an empty disk for each name, until the context ends."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(_mounted(name)) for name in names}


@contextmanager
def _mounted(name: str) -> Iterator[SmallDisk]:
    place = Path(tempfile.mkdtemp(prefix=f"mesh-disk-{name}-"))
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "lab", place], check=True)
        try:
            yield SmallDisk(place)
        finally:
            subprocess.run(["umount", "-l", place], check=True)
    finally:
        place.rmdir()
