"""What another site refuses for now: when is one of it tried again, and when may all of it go?

To send all of it each time would fill the line, and a site that is full would have to read it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from mesh.sites.pauses import LONGEST, SHORTEST

K = TypeVar("K", bound=Hashable)

# Law 1: after a refusal for now nothing leaves for a while, then one, which is tried. When that is refused
#        for now, too, the while is twice as long; when it is not, all may leave.
# Law 2: all that left before what is tried is answered before that, so it counts for nothing.


@dataclass(slots=True)
class Trial:
    """The next trial, or the one that is under way: of whom? None: nothing is tried now."""

    until: float
    length: float
    tried: int | None = None


class Trials(Generic[K]):
    """The keys of which something was refused for now. What has one is named by a number."""

    def __init__(self) -> None:
        self._trials: dict[K, Trial] = {}

    def __bool__(self) -> bool:
        return bool(self._trials)

    def holds(self, key: K, number: int) -> bool:
        """Has that one to wait?"""
        return key in self._trials and self._trials[key].tried != number

    def refused(self, key: K, number: int, now: float) -> None:
        """That one was, for now."""
        trial = self._trials.get(key)
        if trial is None:
            self._trials[key] = Trial(now + SHORTEST, SHORTEST)
        elif trial.tried == number:
            length = min(2 * trial.length, LONGEST)
            self._trials[key] = Trial(now + length, length)

    def answered(self, key: K, number: int) -> bool:
        """That one has come there, or has its last word. May all leave now that had to wait for it?"""
        if key not in self._trials or self._trials[key].tried != number:
            return False
        del self._trials[key]
        return True

    def over(self, now: float) -> Sequence[K]:
        """Of these one is to be tried now."""
        return [key for key, trial in self._trials.items() if trial.tried is None and trial.until <= now]

    def tries(self, key: K, number: int | None) -> None:
        """It is this one. None: nothing is left that could be."""
        if number is None:
            del self._trials[key]
        else:
            self._trials[key].tried = number

    def tried(self) -> Sequence[tuple[K, int]]:
        """All that is tried now."""
        return [(key, trial.tried) for key, trial in self._trials.items() if trial.tried is not None]

    def deadline(self) -> float | None:
        """When one is to be tried next; None: nothing waits for that."""
        return min((trial.until for trial in self._trials.values() if trial.tried is None), default=None)
