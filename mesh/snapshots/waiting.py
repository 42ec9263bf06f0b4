"""Which of all that waits at a node is written down? The longest queues, and each that has become empty."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Waiting(NamedTuple):
    """What waits in a queue of any kind: for a master, for a session, or for whoever takes from `queue/NAME`.

    What only such a queue has is None elsewhere: who takes from it, what comes and goes (messages a second),
    and what it has given up and given again since the node's start.
    """

    name: str
    messages: int
    bytes: int
    oldest: float | None = None  # s that the first has waited
    consumers: int | None = None
    arrives: float | None = None
    leaves: float | None = None
    dead: int | None = None
    redelivered: int | None = None
    ready: int | None = None  # those of the messages that could be given out now
    wants: int | None = None  # messages that its consumers have room for, beyond what is ready
    moved_in: int | None = None  # that came from that queue at other nodes since the node's start,
    moved_out: int | None = None  # and went there

    @property
    def is_idle(self) -> bool:
        """Is it empty, and nobody takes from it?"""
        return not self.messages and not self.consumers


class Longest:
    """The choice of those that are told. One that has become idle is told once more."""

    def __init__(self, most: int) -> None:
        """`most`: queues at a time, and as many that have become idle; of more of these the rest comes next
        time."""
        self._most = most
        self.told: dict[str, None] = {}  # names of those that were told, and not that they are idle

    def of(self, found: Iterable[Waiting]) -> list[Waiting]:
        """Those to be told now, of all that are not idle, or were told before."""
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
