"""Lazy reading of a store's envelopes."""

from collections.abc import Callable, Iterator

from mesh.operations import Stored


class Reading:
    """The envelopes of a store, read anew by each iteration, and never all in memory."""

    def __init__(self, read: Callable[[], Iterator[Stored]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Stored]:
        return self._read()
