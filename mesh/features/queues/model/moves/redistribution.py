"""Decides how many waiting messages move now, and to which nodes."""

# Law 1: messages move only to nodes that want some, are not leaving, and have no move in progress. No move
#   exceeds the demand of its node.
# Law 2: stranded messages may all move after the delay that the queue sets. Of the rest only messages that
#   would wait here longer than a second may move, in equal shares, one of which stays. Within the first
#   second consumers count as fast until proven slow, so that a message just distributed to its node stays
#   there.
# Law 3: a message that is not stranded moves at most once in APART seconds, and at most MOST times. From then
#   on it moves only when stranded, and at most once in APART seconds.

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import ceil, inf
from typing import NamedTuple

from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.moves.distribution import NodeUuid
from mesh.features.queues.model.moves.queue_report import AHEAD, QueueReport

APART = 30.0  # s
MOST = 8  # moves
SHUT, LONGEST = 1.0, 30.0  # s
TINY = 0.001  # s


class Mine(NamedTuple):
    """The state of the local queue.

    `leaves` is in messages a second. `stranded` counts the ready messages that no consumer here matches,
    since `stranded_since` (s, as `now`). `room` is the credit of consumers here without a selector.
    `ready_since` is the time (s) since which messages have been ready, and `finished` counts the messages
    that consumers here have acknowledged since.
    """

    ready: int
    leaves: float
    stranded: int = 0
    stranded_since: float = inf
    room: int = 0
    ready_since: float = -inf
    finished: int = 0


class Move(NamedTuple):
    """A move of at most `messages` messages to a node: stranded ones if `is_stranded`, else other ones."""

    target: NodeUuid
    messages: int
    is_stranded: bool


def moves(
    terms: QueueTerms,
    mine: Mine,
    others: Mapping[NodeUuid, QueueReport],
    busy: Collection[NodeUuid],
    now: float,
) -> list[Move]:
    """Return the moves to start now.

    `busy` has the nodes with a move in progress. A node may occur twice: its second move counts if no
    message matches the first.
    """
    delay = terms.redistribution
    if delay is None or terms.distribution == "strict":
        return []
    wanting = {node: s for node, s in others.items() if s.wants and not s.is_leaving and node not in busy}
    found: list[Move] = []
    if mine.stranded > 0 and now - mine.stranded_since >= delay:
        for nodes in _alike(wanting):
            found += _shared(nodes, mine.stranded, is_stranded=True)
    spare = mine.ready - mine.stranded - _taken_soon(mine, now)
    if spare > 0 and terms.distribution != "independent":
        for nodes in _alike(wanting):
            theirs = -(-spare * len(nodes) // (len(nodes) + 1))  # one share stays here
            found += _shared(nodes, theirs, is_stranded=False)
    return sorted(found, key=lambda m: (not m.is_stranded, -wanting[m.target].wants, m.target))


def _taken_soon(mine: Mine, now: float) -> int:
    """Return how many messages consumers here are expected to receive within AHEAD seconds.

    A rate is known only when messages have been ready for that long. Before that, consumers are assumed to be
    fast enough for one more message in the time that has passed.
    """
    passed = now - mine.ready_since
    possible = int(AHEAD * (mine.finished + 1) / max(passed, TINY)) if passed <= AHEAD else 0
    return max(mine.room, ceil(mine.leaves * AHEAD), possible)


def _alike(wanting: Mapping[NodeUuid, QueueReport]) -> Collection[dict[NodeUuid, int]]:
    """Return the demand of the nodes, grouped by equal selectors.

    Nodes of one group compete for the same messages. Whether messages here match another group is unknown.
    """
    found: dict[tuple[bool, tuple[str, ...]], dict[NodeUuid, int]] = {}
    for node, stock in wanting.items():
        found.setdefault((stock.is_any, stock.selectors), {})[node] = stock.wants
    return found.values()


def _shared(wants: Mapping[NodeUuid, int], n: int, *, is_stranded: bool) -> Iterator[Move]:
    """Yield moves that share `n` messages evenly.

    Messages that one node does not want are shared by the others. The remainder goes to the nodes that want
    the most.
    """
    for others, (want, node) in zip(
        range(len(wants), 0, -1), sorted((want, node) for node, want in wants.items()), strict=True
    ):
        share = min(want, n // others)
        n -= share
        if share:
            yield Move(node, share, is_stranded)


class RefusingNodes:
    """The nodes that refused messages, and therefore receive none for a pause of SHUT s.

    The pause doubles with each refusal after its end, up to LONGEST s, until the node accepts messages.
    """

    def __init__(self) -> None:
        self._shut: dict[NodeUuid, tuple[float, float]] = {}  # until when, and for how long

    def close_node(self, node: NodeUuid, now: float) -> None:
        until, length = self._shut.get(node, (now, SHUT / 2))
        if until <= now:
            length = min(LONGEST, 2 * length)
            self._shut[node] = now + length, length

    def open_node(self, node: NodeUuid) -> None:
        self._shut.pop(node, None)

    def closed_nodes(self, now: float) -> set[NodeUuid]:
        return {node for node, (until, _) in self._shut.items() if until > now} if self._shut else set()


def may_move(queued: QueuedEnvelope, is_stranded: bool, now: float) -> bool:
    """Return whether the messages of an envelope may move now.

    Messages of a group move only when stranded. Law 3 limits how often any message moves.
    """
    if not is_stranded and (queued.group or queued.moves >= MOST):
        return False
    return (is_stranded and queued.moves < MOST) or now - queued.came >= APART
