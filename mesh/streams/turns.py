"""What was refused for now, so that what its publisher sent later waits until it comes again?"""

from __future__ import annotations

from collections import OrderedDict

FORGOTTEN = 120.0  # s after which nobody waits any more for what does not come again

# Law: it makes nobody wait for ever: what is below the low of who brings it, or does not come, is forgotten.


class Turns:
    """The first number that was put off of each who brings any; of `most` of these at most."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._first: OrderedDict[bytes, tuple[int, float]] = OrderedDict()  # number, and when

    def put_off(self, who: bytes, first: int, now: float) -> None:
        """These numbers are refused for now. What was put off before them still is, if it comes again: it may
        have been answered when it came once more."""
        known, since = self._first.pop(who, (first, now))
        self._first[who] = min(known, first), now if first <= known else since
        if len(self._first) > self._most:
            self._first.popitem(last=False)

    def is_early(self, who: bytes, first: int, last: int, low: int, now: float) -> bool:
        """Does it come in front of what is to come again before it?"""
        if who not in self._first:  # as a rule
            return False
        number, since = self._first[who]
        if not low <= number or first <= number <= last or now >= since + FORGOTTEN:
            del self._first[who]
            return False
        return first > number
