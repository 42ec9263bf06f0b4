"""Backpressure: holds back answers to publishers while a slow subscriber catches up.

An answer to a publisher, or an acknowledgment to a peer, is held back while one of its messages waits for
the credit of a subscriber that makes progress. A stopped subscriber does not delay answers.
"""

from collections import deque
from collections.abc import Callable, Hashable, Sequence

from msgspec import Struct

from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.sink import Sink

DueSlices = Sequence[tuple[Sink, EnvelopeSlice]]


class ItemsOf(Struct, frozen=True):
    """Key of the acknowledgments to a peer that sent items."""

    uuid: bytes


class Pacing:
    """The actions that are held back, in order for each source."""

    def __init__(self) -> None:
        self._held: dict[Hashable, deque[tuple[DueSlices, Callable[[], None]]]] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    def release_after(self, source: Hashable, waiting: DueSlices, release: Callable[[], None]) -> None:
        """Call `release` once no slice in `waiting` delays it and no earlier action of the source is held.

        A slice delays the action while it waits for a sink that makes progress.
        """
        if waiting or source in self._held:
            self._held.setdefault(source, deque()).append((waiting, release))
        else:
            release()

    def run_due(self, now: float) -> None:
        """Run the actions whose slices have left or wait for a stopped sink, in order for each source."""
        for source in list(self._held):
            held = self._held[source]
            while held and not any(p.waiting and taker.alive(now) for taker, p in held[0][0]):
                held.popleft()[1]()
            if not held:
                del self._held[source]

    def sources(self) -> list[Hashable]:
        return list(self._held)

    def drop_source(self, source: Hashable) -> None:
        """Drop the held actions of a source that has ended."""
        self._held.pop(source, None)
