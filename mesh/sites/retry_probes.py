"""Decides when a message that another site refused temporarily is retried, and when others may follow.

Sending all waiting messages each time would fill the connection, and the full site would have to read them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from mesh.sites.stream_backoff import LONGEST, SHORTEST

K = TypeVar("K", bound=Hashable)

# Law 1: after a temporary refusal nothing leaves for a while, then one message is retried. If it is refused
# again, the pause doubles; otherwise all may leave.
# Law 2: messages that left before the retried one are answered before it, so their refusals do not count.


@dataclass(slots=True)
class Trial:
    """The next retry, or the one in progress. `tried` is its number, None while none is in progress."""

    until: float
    length: float
    tried: int | None = None


class RetryProbes(Generic[K]):
    """The keys with temporary refusals. A message is named by its number."""

    def __init__(self) -> None:
        self._trials: dict[K, Trial] = {}

    def __bool__(self) -> bool:
        return bool(self._trials)

    def holds(self, key: K, number: int) -> bool:
        return key in self._trials and self._trials[key].tried != number

    def record_refusal(self, key: K, number: int, now: float) -> None:
        """Record a temporary refusal. During a pause or retry, only that of the retried message counts."""
        trial = self._trials.get(key)
        if trial is None:
            self._trials[key] = Trial(now + SHORTEST, SHORTEST)
        elif trial.tried == number:
            length = min(2 * trial.length, LONGEST)
            self._trials[key] = Trial(now + length, length)

    def record_arrival(self, key: K, number: int) -> bool:
        """Record an arrival or a final answer. Return whether waiting messages may leave now.

        They may leave if `number` was being retried.
        """
        if key not in self._trials or self._trials[key].tried != number:
            return False
        del self._trials[key]
        return True

    def due_keys(self, now: float) -> Sequence[K]:
        return [key for key, trial in self._trials.items() if trial.tried is None and trial.until <= now]

    def tries(self, key: K, number: int | None) -> None:
        """Begin the retry of `number`, or forget the key if None is left to retry."""
        if number is None:
            del self._trials[key]
        else:
            self._trials[key].tried = number

    def tried(self) -> Sequence[tuple[K, int]]:
        return [(key, trial.tried) for key, trial in self._trials.items() if trial.tried is not None]

    def deadline(self) -> float | None:
        """Return when the next retry is due, or None if none waits."""
        return min((trial.until for trial in self._trials.values() if trial.tried is None), default=None)
