"""Direct messages in transit from the session home to the node that the session visits.

The home sends the slices of an inbox as numbered items, page by page. The visited node collects them.
"""

# Law 1: the home keeps an item until the visited node reports that the client has processed it.
# Law 2: items are numbered from 1 without a hole, and each page continues the one before.
# Law 3: a repeated question gets the same items, and perhaps more.

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

from mesh.errors import RemoteError
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.wire.frames import body_frames
from mesh.wire.limits import ENVELOPES_A_MESSAGE, MIB


class SentItems:
    """The items of one inbox that the home has sent, or sends next."""

    def __init__(self) -> None:
        self.first = 1  # number of the first item
        self._items: deque[EnvelopeSlice] = deque()

    @property
    def next(self) -> int:
        """The number of the item that is added next."""
        return self.first + len(self._items)

    def add_item(self, slice_: EnvelopeSlice) -> None:
        self._items.append(slice_)

    def settle(self, done: int) -> None:
        """Drop the items up to the number `done`, which the client has processed."""
        while self._items and self.first <= done:
            self._items.popleft()
            self.first += 1

    def page(self, at: int) -> list[EnvelopeSlice]:
        """Return items from the number `at` on that fit into one reply: at least one, if there is one."""
        found, frames, size = list[EnvelopeSlice](), 0, 0
        for slice_ in islice(self._items, max(at - self.first, 0), None):
            frames, size = frames + 1 + body_frames(slice_.stored.envelope), size + slice_.size
            if found and (
                frames > 2 * ENVELOPES_A_MESSAGE or size > MIB or len(found) >= ENVELOPES_A_MESSAGE
            ):
                break
            found.append(slice_)
        return found


class CollectedItems:
    """The numbers of the items that a visited node has collected from one inbox."""

    def __init__(self) -> None:
        self.next = 1  # number of the item that is collected next
        self._open: dict[int, None] = {}  # items that the client has not processed

    @property
    def done(self) -> int:
        """The number up to which the client has processed all items."""
        return next(iter(self._open), self.next) - 1

    def take_page(self, first: int, count: int) -> Sequence[int]:
        """Count a page, and return the numbers of its items. Raises: RemoteError if it is out of place."""
        if count and first != self.next:
            text = f"a page of an inbox begins with item {first} instead of {self.next}"
            raise RemoteError(text, code="MALFORMED")
        numbers = range(self.next, self.next + count)
        self._open.update(dict.fromkeys(numbers))
        self.next += count
        return numbers

    def release(self, number: int) -> None:
        """Record that the client has processed an item."""
        self._open.pop(number, None)
