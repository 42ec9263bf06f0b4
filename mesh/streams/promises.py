"""What may a sender promise to a receiver, when somebody else numbers what it sends?

See `mesh.streams.legs`: a low that is too high loses, one that is too low costs a little memory there.
"""

from __future__ import annotations

from mesh.streams.ranges import Ranges

# Law: no number that is open now, or may yet be opened, is ever below a low that was promised.


class Promises:
    """The numbers that one receiver was given or is owed, and has not answered, by streams."""

    def __init__(self) -> None:
        self._open: dict[bytes, Ranges] = {}

    def __len__(self) -> int:
        """The count of streams of which anything is open."""
        return len(self._open)

    def open(self, stream: bytes, first: int, last: int) -> None:
        """It is owed these, or again."""
        if stream not in self._open:
            self._open[stream] = Ranges()
        self._open[stream].add(first, last)

    def close(self, stream: bytes, first: int, last: int) -> None:
        """It has answered these, whatever it said."""
        numbers = self._open.get(stream)
        if numbers is None:
            return
        numbers.remove(first, last)
        if not numbers:
            del self._open[stream]

    def is_open(self, stream: bytes, number: int) -> bool:
        """Is that one owed, and not answered?"""
        return stream in self._open and self._open[stream].overlaps(number, number)

    def low(self, stream: bytes, publishers: int) -> int:
        """All below is settled, and stays so. `publishers`: the low of whoever numbers the stream, as it is
        known here: what is not answered there may yet come, after what is higher was settled."""
        numbers = self._open.get(stream)
        return publishers if numbers is None else min(publishers, numbers.bottom())
