"""What is read from a store only as somebody goes through it?"""

from collections.abc import Callable, Iterator

from mesh.operations import Stored


class Reading:
    """Envelopes of a store, one after the other: never all at once in memory. Read anew each time."""

    def __init__(self, read: Callable[[], Iterator[Stored]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Stored]:
        return self._read()
