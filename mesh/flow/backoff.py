"""Decides when something that was refused for now is retried, and when others may follow.

Sending all that waits each time would fill the connection, and the full receiver would have to read it.
"""

# Law 1: after a temporary refusal nothing of the key leaves for a while, then one attempt is made. If it is
# refused again, the pause doubles; otherwise all may leave.
# Law 2: what left before the attempt is answered before it, so its refusals do not count.

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
SHORTEST, LONGEST = 0.25, 60.0  # s of a pause


@dataclass(slots=True)
class Pause:
    """A pause, or the attempt after it, which is named by a number."""

    until: float
    length: float
    attempt: int | None = None  # None while none is in progress


class Backoff(Generic[K]):
    """The keys with temporary refusals. Where a key has one attempt at a time, its number is 0."""

    def __init__(self) -> None:
        self._pauses: dict[K, Pause] = {}

    def __bool__(self) -> bool:
        return bool(self._pauses)

    def holds(self, key: K, attempt: int = 0) -> bool:
        """Return whether `attempt` must wait: for the end of a pause, or for another attempt."""
        return key in self._pauses and self._pauses[key].attempt != attempt

    def record_refusal(self, key: K, now: float, attempt: int = 0) -> float:
        """Record a temporary refusal, and return when the pause ends.

        During a pause no refusal counts, and later only that of the attempt in progress.
        """
        pause = self._pauses.get(key)
        if pause is None:
            pause = self._pauses[key] = Pause(now + SHORTEST, SHORTEST)
        elif pause.attempt == attempt:
            length = min(2 * pause.length, LONGEST)
            pause = self._pauses[key] = Pause(now + length, length)
        return pause.until

    def record_arrival(self, key: K, attempt: int = 0) -> bool:
        """Record an arrival or a final answer. Return whether all that waits may leave now.

        That is so if `attempt` was in progress.
        """
        if key not in self._pauses or self._pauses[key].attempt != attempt:
            return False
        del self._pauses[key]
        return True

    def record_progress(self, key: K, now: float) -> None:
        """End the attempt or shorten the pause, because something of the key was accepted."""
        pause = self._pauses.get(key)
        if pause is not None and pause.attempt is not None:
            del self._pauses[key]
        elif pause is not None:
            pause.until, pause.length = min(pause.until, now + SHORTEST), SHORTEST

    def drop(self, key: K) -> None:
        self._pauses.pop(key, None)

    def due_keys(self, now: float) -> list[K]:
        return [key for key, pause in self._pauses.items() if pause.attempt is None and pause.until <= now]

    def begin(self, key: K, attempt: int = 0) -> None:
        """Begin an attempt after a pause."""
        self._pauses[key].attempt = attempt

    def begin_due(self, now: float) -> list[K]:
        """Begin an attempt for each key whose pause is over, and return these keys."""
        found = self.due_keys(now)
        for key in found:
            self.begin(key)
        return found

    def attempts(self) -> list[tuple[K, int]]:
        """Return the attempts in progress."""
        return [(key, pause.attempt) for key, pause in self._pauses.items() if pause.attempt is not None]

    def deadline(self) -> float | None:
        """Return when the next pause ends, or None if none lasts."""
        return min((pause.until for pause in self._pauses.values() if pause.attempt is None), default=None)
