"""Compares published and arrived lines by SHA-256; exit code 1 if they differ.

python -m tools.demo_parts.compare PUBLISHED LINES EVERY ARRIVED...

Of the first LINES lines of PUBLISHED, the first and then each EVERYth should have arrived. Each ARRIVED
file is compared completely.
"""

import sys
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice, zip_longest
from pathlib import Path

SHOWN = 50  # bytes of a line in a message


def lines(path: Path, most: int | None = None, every: int = 1) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in islice(file, 0, most, every):
            yield line.removesuffix(b"\n")


def expected(count: int, every: int) -> int:
    return -(-count // every)


def difference(published: Path, count: int, arrived: Path, every: int = 1) -> str:
    """Return the first difference as text, or an empty text."""
    number = 0
    pairs = zip_longest(lines(published, count, every), lines(arrived))
    for number, (sent, got) in enumerate(pairs, start=1):
        if got is None:
            return f"{word(every)} {number} never arrived: {_shown(sent)}"
        if sent is None:
            return f"{word(every)} {number} was never published: {_shown(got)}"
        if sha256(sent).digest() != sha256(got).digest():
            return f"{word(every)} {number} differs: published {_shown(sent)}, arrived {_shown(got)}"
    most = expected(count, every)
    return "" if number == most else f"only {number} of {most} {word(every)}s were published"


def word(every: int) -> str:
    """Return the noun for an item, by whether all lines are sent."""
    return "line" if every == 1 else "letter"


def _shown(line: bytes) -> str:
    return f"{line[:SHOWN].decode('utf-8', 'backslashreplace')!r} (SHA-256 {sha256(line).hexdigest()[:12]})"


def main(arguments: list[str]) -> int:
    published, count, every = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    found = {path: difference(published, count, path, every) for path in map(Path, arguments[3:])}
    good = f"{expected(count, every):,} {word(every)}s, every one as it was published"
    for path, what in found.items():
        print(f"{path.name}: {what or good}")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
