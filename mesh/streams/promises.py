"""Lows that a sender may promise to a receiver when another node assigns the numbers.

A low that is too high loses messages; a low that is too low costs a little memory at the receiver. See
`mesh.streams.multi_path_stream`.
"""

from __future__ import annotations

from mesh.streams.ranges import Ranges

# Law: no number that is open now, or may yet be opened, is below a promised low.


class Promises:
    """The numbers of each stream that one receiver was sent or is owed, and has not answered."""

    def __init__(self) -> None:
        self._open: dict[bytes, Ranges] = {}

    def __len__(self) -> int:
        """Return the number of streams with open numbers."""
        return len(self._open)

    def add_numbers(self, stream: bytes, first: int, last: int) -> None:
        if stream not in self._open:
            self._open[stream] = Ranges()
        self._open[stream].add(first, last)

    def close(self, stream: bytes, first: int, last: int) -> None:
        numbers = self._open.get(stream)
        if numbers is None:
            return
        numbers.remove(first, last)
        if not numbers:
            del self._open[stream]

    def is_open(self, stream: bytes, number: int) -> bool:
        return stream in self._open and self._open[stream].overlaps(number, number)

    def low(self, stream: bytes, publishers: int) -> int:
        """Return the number below which everything is permanently settled.

        `publishers` is the publisher's own low as known here. Its unanswered numbers may arrive after higher
        numbers are settled.
        """
        numbers = self._open.get(stream)
        return publishers if numbers is None else min(publishers, numbers.bottom())
