"""What was refused for now, so that what its publisher sent later waits until it comes again?"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict

FORGOTTEN = 120.0  # s after which nobody waits any more for what does not come again
BEHIND = 16  # numbers of one stream that are remembered

# Law 1: a refused number makes no later one wait for ever: one below the `low` of its sender, or one that
#        does not come again, is forgotten.
# Law 2: when the first refused number is below `low`, later ones wait for the next one. The first may have
#        been answered before it was refused: a copy of it came while the answer was on its way.


class Turns:
    """The first numbers that were refused of each stream, for the latest `most` streams."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._refused: OrderedDict[bytes, tuple[list[int], float]] = (
            OrderedDict()
        )  # sorted, and when the first was

    def put_off(self, who: bytes, first: int, now: float) -> None:
        """Note that the message with the number `first` was refused for now."""
        numbers, since = self._refused.pop(who, ([], now))
        since = now if not numbers or first <= numbers[0] else since
        if first not in numbers:
            insort(numbers, first)
        del numbers[BEHIND:]
        self._refused[who] = numbers, since
        if len(self._refused) > self._most:
            self._refused.popitem(last=False)

    def is_early(self, who: bytes, first: int, last: int, low: int, now: float) -> bool:
        """Return whether the messages `first` to `last` come before a refused one that is to come again."""
        if who not in self._refused:  # as a rule
            return False
        numbers, since = self._refused[who]
        if done := bisect_left(numbers, low):
            del numbers[:done]
            self._refused[who] = numbers, since = numbers, now
        if not numbers or first <= numbers[0] <= last or now >= since + FORGOTTEN:
            del self._refused[who]
            return False
        return first > numbers[0]
