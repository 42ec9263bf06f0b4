"""A directory of snapshots, for tests of the components that write and copy it."""

import errno
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mesh.snapshots.segment import Segment
from tests.mesh.snapshots.lines import segment


def put(place: Path, it: Segment, content: bytes | None = None) -> Path:
    """Write a closed segment of that size, or with that content."""
    path = place / it.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * (it.bytes - 1) + b"\n" if content is None else content)
    return path


def put_unfinished(place: Path, it: Segment, content: bytes) -> Path:
    """Write a segment that a killed node left unfinished."""
    path = put(place, it, content)
    return path.rename(path.parent / it.name.unfinished)


def mark(place: Path, marker: str, *ranges: tuple[int, int], boot: int = 7) -> None:
    """Write a marker by which these segments of the node "heron" are safe."""
    (place / marker).write_text(json.dumps({segment(1, boot=boot).name.run: ranges}))


def files(place: Path) -> list[str]:
    """Return the paths of all files in subdirectories. Markers and locks are in none."""
    found = (path.relative_to(place) for path in place.rglob("*") if not path.is_dir())
    return sorted(str(path) for path in found if path.parent != Path("."))


def names(place: Path) -> list[str]:
    """Return the names of these files, without directories."""
    return sorted(path.rpartition("/")[2] for path in files(place))


def numbers(content: bytes) -> list[int]:
    """Return the numbers of the lines, each of which must be whole."""
    return [json.loads(line)["line"] for line in content.splitlines()]


def fail(number: int) -> Any:
    """Return a system call that fails with this error number."""

    def call(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return call


FULL, BROKEN = fail(errno.ENOSPC), fail(errno.EIO)


def faulty_os(**calls: Any) -> SimpleNamespace:
    """Return the module `os` with these calls in place of its own."""
    return SimpleNamespace(**{**vars(os), **calls})


class Told(list[tuple[str, str]]):
    """Reports to a person: levels and texts."""

    def __call__(self, level: str, text: str) -> None:
        self.append((level, text))

    def take(self) -> str:
        """Return all reports, one per line, and forget them."""
        text = "\n".join(f"{level}: {text}" for level, text in self)
        self.clear()
        return text
