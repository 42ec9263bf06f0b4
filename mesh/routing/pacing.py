"""Who should wait a little, so that a slow subscriber is not overrun?

An answer to a publisher, or an acknowledgement to a peer, is held back while a message of it still waits
for the credit of a subscriber that makes progress. A subscriber that has stopped holds nobody up.
"""

from collections import deque
from collections.abc import Callable, Hashable, Sequence

from mesh.routing.portion import Portion
from mesh.routing.taker import Taker

DuePortions = Sequence[tuple[Taker, Portion]]


class Pacing:
    """The work that is held back, in order for each source."""

    def __init__(self) -> None:
        self._held: dict[Hashable, deque[tuple[DuePortions, Callable[[], None]]]] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    def hold(self, source: Hashable, waiting: DuePortions, release: Callable[[], None]) -> None:
        """Call `release` when nothing of `waiting` waits any more, and nothing before it is held."""
        if waiting or source in self._held:
            self._held.setdefault(source, deque()).append((waiting, release))
        else:
            release()

    def release(self, now: float) -> None:
        """Let go what need not wait any longer."""
        for source in list(self._held):
            held = self._held[source]
            while held and not any(p.waiting and taker.alive(now) for taker, p in held[0][0]):
                held.popleft()[1]()
            if not held:
                del self._held[source]

    def sources(self) -> list[Hashable]:
        """The sources that wait."""
        return list(self._held)

    def forget(self, source: Hashable) -> None:
        """The source is gone: nobody waits for its answers."""
        self._held.pop(source, None)
