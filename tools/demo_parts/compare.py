"""Is what arrived what was published? Compared line by line, by SHA-256; exit code 1 if it is not.

python -m tools.demo_parts.compare PUBLISHED LINES ARRIVED...

PUBLISHED counts up to its line number LINES, each ARRIVED file as a whole.
"""

import sys
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice, zip_longest
from pathlib import Path

SHOWN = 50  # bytes of a line that a message quotes


def lines(path: Path, most: int | None = None) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in islice(file, most):
            yield line.removesuffix(b"\n")


def difference(published: Path, count: int, arrived: Path) -> str:
    """The first line that differs, in words; empty when none does."""
    number = 0
    for number, (sent, got) in enumerate(zip_longest(lines(published, count), lines(arrived)), start=1):
        if got is None:
            return f"line {number} never arrived: {_shown(sent)}"
        if sent is None:
            return f"line {number} was never published: {_shown(got)}"
        if sha256(sent).digest() != sha256(got).digest():
            return f"line {number} differs: published {_shown(sent)}, arrived {_shown(got)}"
    return "" if number == count else f"only {number} of {count} lines were published"


def _shown(line: bytes) -> str:
    return f"{line[:SHOWN].decode('utf-8', 'backslashreplace')!r} (SHA-256 {sha256(line).hexdigest()[:12]})"


def main(arguments: list[str]) -> int:
    published, count = Path(arguments[0]), int(arguments[1])
    found = {path: difference(published, count, path) for path in map(Path, arguments[2:])}
    for path, what in found.items():
        print(f"{path.name}: {what or f'{count:,} lines, every one as it was published'}")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
