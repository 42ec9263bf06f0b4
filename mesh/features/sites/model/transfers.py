"""The state of a transfer of retained values to another site."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

# Law 1: each value has its own number in the stream of the transfer, which it keeps until it is answered,
# whatever the gateway and the number of attempts. So the site accepts it once.
# Law 2: the transfer is over when every topic was examined and every number is answered.

Topic = tuple[str, str]  # key, domain
WINDOW, WINDOW_BYTES = 64, 1024 * 1024  # values in transit, and their bytes


class TopicKeys(Protocol):
    """A list of keys that is read in slices. It may grow at its end."""

    def __len__(self) -> int: ...

    def __getitem__(self, wanted: slice) -> Sequence[str]: ...


@dataclass(slots=True)
class SiteTransfer:
    """The state of a transfer to one site: values that were sent, and the topics that are left.

    `keys` has the keys of all topics at its start, which are examined one by one. `dropped` is the number
    of messages that the site was known to lack at the start.
    """

    stream: bytes
    keys: TopicKeys
    dropped: int = 0
    sent: int = 0  # last number assigned
    refused: int = 0
    ahead: int = 0  # not sent: timestamp too far ahead
    _looked: int = 0
    _open: dict[int, Topic] = field(default_factory=dict)
    _sizes: dict[int, int] = field(default_factory=dict)

    def next_keys(self, most: int) -> Sequence[str]:
        """Return the next keys to examine, at most `most`; none while the window is full."""
        if len(self._open) >= WINDOW or sum(self._sizes.values()) >= WINDOW_BYTES:
            return ()
        found = self.keys[self._looked : self._looked + most]
        self._looked = self._looked + len(found) if found else len(self.keys)
        return found

    def assign_number(self, topic: Topic, size: int) -> int:
        """Assign a number to the value of `topic`, and return it."""
        self.sent += 1
        self._open[self.sent], self._sizes[self.sent] = topic, size
        return self.sent

    def unanswered(self) -> list[tuple[int, Topic]]:
        return list(self._open.items())

    @property
    def low(self) -> int:
        """The lowest unanswered number, or else the next number."""
        return next(iter(self._open), self.sent + 1)

    def apply_answer(self, domain: str, first: int, last: int, is_ok: bool) -> None:
        """Apply a final answer. Unexpected answers change nothing."""
        for number in self._about(domain, first, last):
            del self._open[number], self._sizes[number]
            self.refused += not is_ok

    def is_about(self, domain: str, first: int, last: int) -> bool:
        """Return whether any number of the range is in transit."""
        return any(self._about(domain, first, last))

    def _about(self, domain: str, first: int, last: int) -> Iterator[int]:
        yield from [n for n, (_, of) in self._open.items() if first <= n <= last and of == domain]

    @property
    def left(self) -> int:
        """The number of topics to be examined or in transit."""
        return len(self.keys) - self._looked + len(self._open)

    @property
    def is_over(self) -> bool:
        return not self.left
