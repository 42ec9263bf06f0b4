"""The progress of a file that other programs write."""

from pathlib import Path


class Lines:
    """The lines of a growing file; `count` is their number at the last `look`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._read = 0

    def look(self) -> int:
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self._read)
                while block := file.read(1 << 20):
                    self._read += len(block)
                    self.count += block.count(b"\n")
        return self.count

    def last(self) -> str:
        """Return the last complete line, or an empty text."""
        whole, _, _ = self.path.read_bytes().rpartition(b"\n")
        return whole.rpartition(b"\n")[2].decode()


def lose_a_line(path: Path) -> None:
    """Remove the middle line of a file."""
    lines = path.read_bytes().split(b"\n")
    del lines[(len(lines) - 1) // 2]  # the last item is empty
    path.write_bytes(b"\n".join(lines))
