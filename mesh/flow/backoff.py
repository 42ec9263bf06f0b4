"""Retries after temporary refusals: one attempt after each pause, then all messages that wait.

Resending all of them after each pause would fill the connection, and the full receiver would have to read
them.
"""

# Law 1: after a temporary refusal nothing of the key is sent during a pause; one attempt follows. If that is
# refused, the next pause is twice as long; otherwise everything that waits may be sent.
# Law 2: messages sent before the attempt are answered before it, so their refusals do not count.

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
SHORTEST, LONGEST = 0.25, 60.0  # s of a pause


@dataclass(slots=True)
class Pause:
    """The pause of a key, or the numbered attempt that follows the pause."""

    until: float
    length: float
    attempt: int | None = None  # None while none is in progress


class Backoff(Generic[K]):
    """The keys with temporary refusals, with their pauses and attempts.

    `attempt` is the number of the message that is tried, or 0 if the caller does not number its attempts.
    """

    def __init__(self) -> None:
        self._pauses: dict[K, Pause] = {}

    def __bool__(self) -> bool:
        return bool(self._pauses)

    def holds(self, key: K, attempt: int = 0) -> bool:
        """Return whether `attempt` must wait for the end of a pause or for another attempt."""
        return key in self._pauses and self._pauses[key].attempt != attempt

    def record_refusal(self, key: K, now: float, attempt: int = 0) -> float:
        """Record a temporary refusal, and return when the pause ends.

        A refusal during a pause changes nothing. After the pause only a refusal of the attempt counts.
        """
        pause = self._pauses.get(key)
        if pause is None:
            pause = self._pauses[key] = Pause(now + SHORTEST, SHORTEST)
        elif pause.attempt == attempt:
            length = min(2 * pause.length, LONGEST)
            pause = self._pauses[key] = Pause(now + length, length)
        return pause.until

    def record_arrival(self, key: K, attempt: int = 0) -> bool:
        """Record the arrival of `attempt` or a final answer to it; return whether the key is free again.

        The result is True if `attempt` was in progress. All messages that wait may then be sent.
        """
        if key not in self._pauses or self._pauses[key].attempt != attempt:
            return False
        del self._pauses[key]
        return True

    def record_progress(self, key: K, now: float) -> None:
        """End the attempt or shorten the pause, because something of the key received a final answer."""
        pause = self._pauses.get(key)
        if pause is not None and pause.attempt is not None:
            del self._pauses[key]
        elif pause is not None:
            pause.until, pause.length = min(pause.until, now + SHORTEST), SHORTEST

    def drop(self, key: K) -> None:
        self._pauses.pop(key, None)

    def due_keys(self, now: float) -> list[K]:
        return [key for key, pause in self._pauses.items() if pause.attempt is None and pause.until <= now]

    def begin_attempt(self, key: K, attempt: int = 0) -> None:
        """Begin an attempt for a key that has a pause."""
        self._pauses[key].attempt = attempt

    def begin_due(self, now: float) -> list[K]:
        """Begin an attempt for each key whose pause is over, and return these keys."""
        found = self.due_keys(now)
        for key in found:
            self.begin_attempt(key)
        return found

    def attempts(self) -> list[tuple[K, int]]:
        """Return the attempts in progress, each as (key, number)."""
        return [(key, pause.attempt) for key, pause in self._pauses.items() if pause.attempt is not None]

    def deadline(self) -> float | None:
        """Return when the next pause ends, or None if there is no pause."""
        return min((pause.until for pause in self._pauses.values() if pause.attempt is None), default=None)
