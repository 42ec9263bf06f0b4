"""The distribution state of a queue, with the messages that wait for transfers to each node."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from math import inf

from mesh.features.queues.model.consumers.groups import MessageGroups
from mesh.features.queues.model.envelopes.counts import Runs, count
from mesh.features.queues.model.envelopes.queued_envelope import EnvelopeKey, QueuedEnvelope
from mesh.features.queues.model.moves.dealing import DealtPiece
from mesh.features.queues.model.moves.distribution import Distributing, NodeUuid
from mesh.features.queues.model.moves.redistribution import RefusingNodes

TOGETHER = 1_000  # envelopes offered to a transfer at a time


class QueueSpread:
    """The distribution state of a queue with waiting or recent messages."""

    def __init__(self, me: NodeUuid) -> None:
        self.distributing = Distributing(me)
        self.refusals = RefusingNodes()
        self.sent: dict[NodeUuid, float] = {}  # last transfer to nodes that use memory only
        self.is_known = False  # whether remote consumers are known
        self.used = 0.0
        self.fresh: list[QueuedEnvelope] = []  # new messages until `is_known`
        self.waiting: dict[NodeUuid, deque[DealtPiece]] = {}  # assigned, waiting for transfer room
        self.full: set[NodeUuid] = set()  # nodes whose transfers are full
        self.since = inf  # since when messages are stranded
        self.ready_since = inf  # since when any message is ready
        self.finished = 0  # acknowledged here before `ready_since`
        self.looked = -inf
        self.due = inf  # time of the next scan
        self.place: Mapping[int, EnvelopeKey] = {}  # where the next scan begins

    @property
    def count(self) -> int:
        return len(self.fresh) + sum(map(len, self.waiting.values()))

    def nothing_ready(self, finished: int) -> None:
        """Reset `ready_since`, as no message is ready; `finished` counts the acks so far."""
        self.ready_since, self.finished = inf, finished

    def line(self, node: NodeUuid) -> deque[DealtPiece]:
        return self.waiting.setdefault(node, deque())

    def give_up(self, node: NodeUuid) -> None:
        """Drop the pieces that wait for a transfer to a node; their messages stay ready here."""
        self.waiting.pop(node, None)
        self.full.discard(node)

    def begin_waiting(self, begin: Callable[[NodeUuid, list[DealtPiece]], int]) -> None:
        """Begin transfers of the waiting pieces, as long as the transfer to a node has room.

        `begin(node, pieces)` returns how many messages it has accepted.
        """
        for node in [node for node in self.waiting if node not in self.full]:
            pieces = self.waiting[node]
            while pieces:
                some = [each for each in map(_still, islice(pieces, TOGETHER)) if each[1]]
                gone = begin(node, some) if some else 0
                if gone < sum(count(runs) for _, runs in some):
                    self.full.add(node)
                    break
                for _ in range(min(TOGETHER, len(pieces))):
                    pieces.popleft()
            while pieces and not _still(pieces[0])[1]:
                pieces.popleft()
            if not pieces:
                del self.waiting[node]


def _still(piece: DealtPiece) -> DealtPiece:
    """Return a piece without the messages that are no longer ready here."""
    queued, runs = piece
    return queued, queued.ready.common_all(runs)


def by_group(envelopes: Iterable[QueuedEnvelope]) -> Counter[str]:
    """Count the ready messages of each group in the envelopes."""
    found = Counter[str]()
    for queued in envelopes:
        if queued.group:
            found[queued.group] += count(queued.ready)
    return found


def in_line(
    spread: QueueSpread,
    groups: MessageGroups,
    queued: QueuedEnvelope,
    shares: dict[NodeUuid, Runs],
    new: Counter[str],
) -> dict[NodeUuid, Runs]:
    """Return `shares`, or an empty mapping while older messages of the group wait elsewhere.

    `new` counts the messages of each group that wait for no transfer yet; those of `queued` are subtracted.
    """
    ready, line = count(queued.ready), None
    for node, runs in shares.items():
        if count(runs) == ready:
            line = spread.line(node)
    follows = groups.follows(queued.group, new[queued.group], line)
    new[queued.group] -= ready
    return shares if follows else {}
