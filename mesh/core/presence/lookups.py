"""Is it known by now who serves it? And who waits to hear?"""

# Law 1: questions for one name are answered in their order, also those that are asked meanwhile.
# Law 2: nobody waits longer than CONFIRM, whoever does not answer.

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from mesh.core.desk.settings import CONFIRM
from mesh.core.presence.registry import ServedName

Then = Callable[[], None]


class Lookups:
    """The questions that wait for each name: until all who can be asked have heard that we watch it."""

    def __init__(self) -> None:
        self._waiting: dict[
            ServedName, deque[tuple[float, Then]]
        ] = {}  # with the time when each waits no more
        self._is_busy: set[ServedName] = set()  # one of those who waited for it is being told

    def __len__(self) -> int:
        return len(self._waiting)

    def ask(self, name: ServedName, now: float, then: Then, is_known: bool) -> None:
        """Call it when it is known: at once, unless others wait for that."""
        if is_known and name not in self._waiting:
            then()
            return
        self._waiting.setdefault(name, deque()).append((now + CONFIRM, then))

    def review(self, now: float, is_known: Callable[[ServedName], bool]) -> None:
        """Answer whoever need not wait any more."""
        for name in [name for name in self._waiting if name not in self._is_busy]:
            self._answer(name, now, is_known)

    def _answer(self, name: ServedName, now: float, is_known: Callable[[ServedName], bool]) -> None:
        waiting = self._waiting[name]
        self._is_busy.add(name)
        while waiting and (now >= waiting[0][0] or is_known(name)):
            waiting.popleft()[1]()
        self._is_busy.discard(name)
        if not waiting:
            del self._waiting[name]

    def late(self, now: float) -> list[ServedName]:
        """The names of which somebody has waited for too long."""
        return [name for name, waiting in self._waiting.items() if waiting[0][0] <= now]

    @property
    def deadline(self) -> float | None:
        """When the first one waits no more."""
        return min((waiting[0][0] for waiting in self._waiting.values()), default=None)
