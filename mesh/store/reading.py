"""Lazy reading of a store's envelopes."""

from collections.abc import Callable, Iterator

from mesh.operations import Stored


class Reading:
    """Envelopes of a store, never all in memory. Each iteration reads them again."""

    def __init__(self, read: Callable[[], Iterator[Stored]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Stored]:
        return self._read()
