"""A directory of snapshots, for tests of those who write it and copy it."""

import errno
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mesh.snapshots.segment import Segment
from tests.mesh.snapshots.lines import segment


def put(place: Path, it: Segment, content: bytes | None = None) -> Path:
    """A closed segment of that size, or with that content."""
    path = place / it.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * (it.bytes - 1) + b"\n" if content is None else content)
    return path


def put_unfinished(place: Path, it: Segment, content: bytes) -> Path:
    """One that a killed node has left."""
    path = put(place, it, content)
    return path.rename(path.parent / it.name.unfinished)


def mark(place: Path, marker: str, *ranges: tuple[int, int], boot: int = 7) -> None:
    """Have a marker say that these segments of the node "heron" are safe."""
    (place / marker).write_text(json.dumps({segment(1, boot=boot).name.run: ranges}))


def files(place: Path) -> list[str]:
    """All files below it, by their paths, but for markers and locks."""
    found = (path.relative_to(place) for path in place.rglob("*") if not path.is_dir())
    return sorted(str(path) for path in found if path.parent != Path("."))


def names(place: Path) -> list[str]:
    """The same, without directories."""
    return sorted(path.rpartition("/")[2] for path in files(place))


def numbers(content: bytes) -> list[int]:
    """Of the lines, each of which must be whole."""
    return [json.loads(line)["line"] for line in content.splitlines()]


def fail(number: int) -> Any:
    """What a system call does that fails so."""

    def call(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return call


FULL, BROKEN = fail(errno.ENOSPC), fail(errno.EIO)


def faulty_os(**calls: Any) -> SimpleNamespace:
    """The module `os` with these calls in place of its own."""
    return SimpleNamespace(**{**vars(os), **calls})


class Told(list[tuple[str, str]]):
    """What a person was told: levels and texts."""

    def __call__(self, level: str, text: str) -> None:
        self.append((level, text))

    def take(self) -> str:
        """All of it, a line each, and forget it."""
        text = "\n".join(f"{level}: {text}" for level, text in self)
        self.clear()
        return text
