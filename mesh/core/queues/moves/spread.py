"""What is known of a queue of which something waits for other nodes, and what stands in line to each?"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from math import inf

from mesh.queues.lots.counts import Runs, count
from mesh.queues.lots.lot import Lot, LotKey
from mesh.queues.moves.dealing import DealtPiece
from mesh.queues.moves.distribution import Distributing, NodeUuid
from mesh.queues.moves.redistribution import RefusingNodes
from mesh.queues.takers.groups import MessageGroups


class QueueSpread:
    """All that is known of a queue of which something waits, or was put not long ago."""

    def __init__(self, me: NodeUuid) -> None:
        self.distributing = Distributing(me)
        self.refusals = RefusingNodes()
        self.sent: dict[NodeUuid, float] = {}  # to nodes where it is in memory only, and when
        self.is_known = False  # who takes at other nodes
        self.used = 0.0
        self.fresh: list[Lot] = []  # until that is known
        self.waiting: dict[NodeUuid, deque[DealtPiece]] = {}  # dealt, and there was no room
        self.full: set[NodeUuid] = set()  # on the way to these there is none
        self.since = inf  # since when something is ready that nobody here could take
        self.ready_since = inf  # since when anything is ready
        self.finished = 0  # messages that consumers here had finished then
        self.looked = -inf
        self.due = inf  # when it is looked at
        self.place: Mapping[int, LotKey] = {}  # where

    @property
    def count(self) -> int:
        """Envelopes that wait for something."""
        return len(self.fresh) + sum(map(len, self.waiting.values()))

    def nothing_ready(self, finished: int) -> None:
        """Begin a new time in which something is ready with the next message. `finished`: messages so far."""
        self.ready_since, self.finished = inf, finished

    def line(self, node: NodeUuid) -> deque[DealtPiece]:
        """What waits for room on the way to a node."""
        return self.waiting.setdefault(node, deque())

    def give_up(self, node: NodeUuid) -> None:
        """What was to go there stays here, until it is wanted somewhere."""
        self.waiting.pop(node, None)
        self.full.discard(node)


def by_group(lots: Iterable[Lot]) -> Counter[str]:
    """How many messages of each group are ready in these."""
    found = Counter[str]()
    for lot in lots:
        if lot.group:
            found[lot.group] += count(lot.ready)
    return found


def in_line(
    spread: QueueSpread, groups: MessageGroups, lot: Lot, shares: dict[NodeUuid, Runs], new: Counter[str]
) -> dict[NodeUuid, Runs]:
    """The shares of what was put of a group: none, as long as something of it waits that is not in the same
    line. `new`: messages of each group that are in none yet.
    """
    ready, line = count(lot.ready), None
    for node, runs in shares.items():
        if count(runs) == ready:
            line = spread.line(node)
    follows = groups.follows(lot.group, new[lot.group], line)
    new[lot.group] -= ready
    return shares if follows else {}
