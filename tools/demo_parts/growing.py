"""How far is a file that others write to?"""

from pathlib import Path


class Lines:
    """The lines of a growing file: how many, and the last of them."""

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
        """Its last whole line; empty when there is none."""
        whole, _, _ = self.path.read_bytes().rpartition(b"\n")
        return whole.rpartition(b"\n")[2].decode()


def lose_a_line(path: Path) -> None:
    """Take the middle line out of a file."""
    lines = path.read_bytes().split(b"\n")
    del lines[(len(lines) - 1) // 2]  # the last one is what stands behind the last line end: nothing
    path.write_bytes(b"\n".join(lines))
