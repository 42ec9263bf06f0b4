"""Selection of the backlogs that a node records: the longest ones, and once more each that becomes idle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

LONGEST = 32  # queues that a node records at a time


class Waiting(NamedTuple):
    """A backlog of any kind: for a master, for a site, for a session, or for the consumers of `queue/NAME`.

    Only a queue has values in the fields after `oldest`. Rates are in messages per second, and counters run
    since the node's start.
    """

    name: str
    messages: int
    bytes: int
    oldest: float | None = None  # s that the first message has waited
    consumers: int | None = None
    arrives: float | None = None
    leaves: float | None = None
    dead: int | None = None
    redelivered: int | None = None
    ready: int | None = None  # ready messages
    wants: int | None = None  # free credit of its consumers, beyond `ready`
    moved_in: int | None = None  # from this queue at other nodes since the start
    moved_out: int | None = None  # to this queue at other nodes since the start

    @property
    def is_idle(self) -> bool:
        """Whether the backlog is empty and has no consumers."""
        return not self.messages and not self.consumers


class Longest:
    """Selects the backlogs to record. A backlog that has become idle is recorded once more."""

    def __init__(self, most: int) -> None:
        """Create a selection of at most `most` backlogs at a time, and as many that have become idle."""
        self._most = most
        self.told: dict[str, None] = {}  # names of recorded queues, not yet recorded as idle

    def select(self, found: Iterable[Waiting]) -> list[Waiting]:
        """Return the backlogs to record now, from all that are not idle or were recorded before."""
        busy, idle = list[Waiting](), dict[str, Waiting]()
        for queue in found:
            if queue.is_idle:
                idle[queue.name] = queue
            else:
                busy.append(queue)
        names = {queue.name for queue in busy}
        gone = [name for name in self.told if name not in names][: self._most]
        longest = sorted(busy, key=_depth, reverse=True)[: self._most]
        for name in gone:
            del self.told[name]
        self.told.update((queue.name, None) for queue in longest)
        return [*longest, *(idle.get(name) or Waiting(name, 0, 0) for name in gone)]


def _depth(queue: Waiting) -> tuple[int, int]:
    return queue.messages, queue.consumers or 0
