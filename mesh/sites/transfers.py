"""A transfer of last values to another site: which are under way, and when has all of it come?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

# Law 1: each value has a number of its own in the stream of the transfer, and goes with that until it is
#        answered, by whatever gateway and however often; so it is taken once.
# Law 2: it is over when every topic has been looked at, and every number is answered.

Topic = tuple[str, str]  # key, domain
WINDOW, WINDOW_BYTES = 64, 1024 * 1024  # values under way, and bytes of these


class TopicKeys(Protocol):
    """A list of keys, of which some are asked for at a time; it may grow at its end."""

    def __len__(self) -> int: ...

    def __getitem__(self, wanted: slice) -> Sequence[str]: ...


@dataclass(slots=True)
class SiteTransfer:
    """One of them. `keys`: of all topics that there were when it began, to be looked at one by one.
    `dropped`: the messages that the site was known to lack then.
    """

    stream: bytes
    keys: TopicKeys
    dropped: int = 0
    sent: int = 0  # the last number that was given to a value
    refused: int = 0
    ahead: int = 0  # values that were not sent, since their time is far ahead
    _looked: int = 0
    _open: dict[int, Topic] = field(default_factory=dict)
    _sizes: dict[int, int] = field(default_factory=dict)

    def next_keys(self, most: int) -> Sequence[str]:
        """So many that are looked at now, as far as the window allows any."""
        if len(self._open) >= WINDOW or sum(self._sizes.values()) >= WINDOW_BYTES:
            return ()
        found = self.keys[self._looked : self._looked + most]
        self._looked = self._looked + len(found) if found else len(self.keys)
        return found

    def send(self, topic: Topic, size: int) -> int:
        """The number under which that goes."""
        self.sent += 1
        self._open[self.sent], self._sizes[self.sent] = topic, size
        return self.sent

    def unanswered(self) -> list[tuple[int, Topic]]:
        """In order."""
        return list(self._open.items())

    @property
    def low(self) -> int:
        """All below is answered."""
        return next(iter(self._open), self.sent + 1)

    def answered(self, domain: str, first: int, last: int, is_ok: bool) -> None:
        """That was the last word of these. What nobody asked changes nothing."""
        for number in self._about(domain, first, last):
            del self._open[number], self._sizes[number]
            self.refused += not is_ok

    def is_about(self, domain: str, first: int, last: int) -> bool:
        """Is any of these under way?"""
        return any(self._about(domain, first, last))

    def _about(self, domain: str, first: int, last: int) -> Iterator[int]:
        yield from [n for n, (_, of) in self._open.items() if first <= n <= last and of == domain]

    @property
    def left(self) -> int:
        """Topics that are still to be looked at, or under way."""
        return len(self.keys) - self._looked + len(self._open)

    @property
    def is_over(self) -> bool:
        return not self.left
