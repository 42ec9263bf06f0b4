"""Temporarily refused messages: later messages of the same sender wait until they are resent."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict

# Seconds for which later numbers wait for a missing resend.
FORGOTTEN = 120.0
BEHIND = 16  # remembered numbers of one sender

# Law 1: a refused number never delays later ones forever. A number below the `low` of its sender, or a
# number that is not resent, is forgotten.
# Law 2: when the first refused number is below `low`, later ones wait for the next one. The first may have
# been answered before a copy was refused.


class DeferredNumbers:
    """The lowest refused numbers of each sender, for the latest `most` senders.

    A sender (`who`) is a stream, or one of several sources of the same stream.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # By sender: sorted numbers, time of the first.
        self._refused: OrderedDict[bytes, tuple[list[int], float]] = OrderedDict()

    def defer(self, who: bytes, first: int, now: float) -> None:
        """Record that the message with the number `first` was temporarily refused."""
        numbers, since = self._refused.pop(who, ([], now))
        since = now if not numbers or first <= numbers[0] else since
        if first not in numbers:
            insort(numbers, first)
        del numbers[BEHIND:]
        self._refused[who] = numbers, since
        if len(self._refused) > self._most:
            self._refused.popitem(last=False)

    def is_early(self, who: bytes, first: int, last: int, low: int, now: float) -> bool:
        """Return whether an earlier refused message must be resent before `first` to `last`.

        Also forget numbers below `low`. If the lowest one left is among `first` to `last`, or was not resent
        in time, all numbers of the sender are forgotten.
        """
        if who not in self._refused:  # the usual case
            return False
        numbers, since = self._refused[who]
        if done := bisect_left(numbers, low):
            del numbers[:done]
            self._refused[who] = numbers, since = numbers, now
        if not numbers or first <= numbers[0] <= last or now >= since + FORGOTTEN:
            del self._refused[who]
            return False
        return first > numbers[0]
