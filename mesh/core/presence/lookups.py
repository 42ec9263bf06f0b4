"""Lookups that wait until the servers of a name are known."""

# Law 1: lookups of one name are answered in their order, also those that are added meanwhile.
# Law 2: no lookup waits longer than CONFIRM, whichever node does not answer.

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from mesh.core.context.settings import CONFIRM
from mesh.core.presence.registry import ServedName

Then = Callable[[], None]


class Lookups:
    """The waiting lookups of each name, until all reachable nodes know that this one watches it."""

    def __init__(self) -> None:
        self._waiting: dict[ServedName, deque[tuple[float, Then]]] = {}  # with their deadlines
        self._is_busy: set[ServedName] = set()  # names whose lookups are being answered

    def __len__(self) -> int:
        return len(self._waiting)

    def when_known(self, name: ServedName, now: float, then: Then, is_known: bool) -> None:
        """Call `then` when the name is known, or after CONFIRM seconds.

        That is at once if `is_known`, unless earlier lookups of the name wait.
        """
        if is_known and name not in self._waiting:
            then()
            return
        self._waiting.setdefault(name, deque()).append((now + CONFIRM, then))

    def review(self, now: float, is_known: Callable[[ServedName], bool]) -> None:
        """Answer the lookups that need not wait any more."""
        for name in [name for name in self._waiting if name not in self._is_busy]:
            self._answer_waiting(name, now, is_known)

    def _answer_waiting(self, name: ServedName, now: float, is_known: Callable[[ServedName], bool]) -> None:
        waiting = self._waiting[name]
        self._is_busy.add(name)
        while waiting and (now >= waiting[0][0] or is_known(name)):
            waiting.popleft()[1]()
        self._is_busy.discard(name)
        if not waiting:
            del self._waiting[name]

    def late(self, now: float) -> list[ServedName]:
        """Return the names with a lookup whose deadline has passed."""
        return [name for name, waiting in self._waiting.items() if waiting[0][0] <= now]

    @property
    def deadline(self) -> float | None:
        """The first deadline, or None."""
        return min((waiting[0][0] for waiting in self._waiting.values()), default=None)
