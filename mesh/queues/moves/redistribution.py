"""What waits here, and should be elsewhere: how much of it moves now, and where?"""

# Law 1: nothing moves to a node to which something moves already, or that wants nothing, or is leaving; and
#        no move is of more than it wants.
# Law 2: what nobody here could take waits for as long as the queue says, then all of it may move. Of the rest
#        only what would wait here for longer than a second, in equal shares, of which one is for here. In the
#        first second consumers count as quick until they are known not to be: so a message that a turn has
#        just brought to its node stays there.
# Law 3: a message moves at most once in APART seconds, unless nobody here could take it, and at most MOST
#        times; from then on only when nobody here could take it, and at most once in APART seconds.

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import ceil, inf
from typing import NamedTuple

from mesh.queues.declared.definition import QueueTerms
from mesh.queues.lots.lot import Lot
from mesh.queues.moves.distribution import NodeUuid
from mesh.queues.moves.stock import AHEAD, Stock

APART = 30.0  # s
MOST = 8  # moves
SHUT, LONGEST = 1.0, 30.0  # s
TINY = 0.001  # s


class Mine(NamedTuple):
    """This part. `leaves`: messages a second. `stranded`: those of what is ready that nobody here could take,
    and since when that is so (s, as `now`). `room`: messages that consumers here without a selector may be
    given now. `ready_since`: since when something is ready (s). `finished`: messages that consumers here have
    finished since then.
    """

    ready: int
    leaves: float
    stranded: int = 0
    stranded_since: float = inf
    room: int = 0
    ready_since: float = -inf
    finished: int = 0


class Move(NamedTuple):
    """So many messages at most shall go there. `is_stranded`: only such as nobody here could take."""

    target: NodeUuid
    messages: int
    is_stranded: bool


def moves(
    terms: QueueTerms, mine: Mine, others: Mapping[NodeUuid, Stock], busy: Collection[NodeUuid], now: float
) -> list[Move]:
    """What is to move now. `busy`: nodes to which something moves. A node may be named twice: the second move
    is for when nothing of the first is what it takes.
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
            theirs = -(-spare * len(nodes) // (len(nodes) + 1))  # one share is for here
            found += _shared(nodes, theirs, is_stranded=False)
    return sorted(found, key=lambda m: (not m.is_stranded, -wanting[m.target].wants, m.target))


def _taken_soon(mine: Mine, now: float) -> int:
    """Return how many messages consumers here are expected to take within AHEAD seconds.

    A rate is known only when something has been ready for so long. Before that the consumers may be as quick
    as one message more in the time that has passed.
    """
    passed = now - mine.ready_since
    possible = int(AHEAD * (mine.finished + 1) / max(passed, TINY)) if passed <= AHEAD else 0
    return max(mine.room, ceil(mine.leaves * AHEAD), possible)


def _alike(wanting: Mapping[NodeUuid, Stock]) -> Collection[dict[NodeUuid, int]]:
    """What each wants, of those together that take the same: what one of these gets the others do not, while
    of the others nobody knows whether there is anything here for them.
    """
    found: dict[tuple[bool, tuple[str, ...]], dict[NodeUuid, int]] = {}
    for node, stock in wanting.items():
        found.setdefault((stock.is_any, stock.selectors), {})[node] = stock.wants
    return found.values()


def _shared(wants: Mapping[NodeUuid, int], n: int, *, is_stranded: bool) -> Iterator[Move]:
    """n messages, evenly; what one does not want the others may have, and those that want the most get the
    odd ones.
    """
    for others, (want, node) in zip(
        range(len(wants), 0, -1), sorted((want, node) for node, want in wants.items()), strict=True
    ):
        share = min(want, n // others)
        n -= share
        if share:
            yield Move(node, share, is_stranded)


class RefusingNodes:
    """The nodes that have refused something: nothing goes there for SHUT s, and for twice as long each time
    that it was in vain.
    """

    def __init__(self) -> None:
        self._shut: dict[NodeUuid, tuple[float, float]] = {}  # until when, and for how long

    def refused(self, node: NodeUuid, now: float) -> None:
        """It did not take something."""
        until, length = self._shut.get(node, (now, SHUT / 2))
        if until <= now:
            length = min(LONGEST, 2 * length)
            self._shut[node] = now + length, length

    def taken(self, node: NodeUuid) -> None:
        """It did."""
        self._shut.pop(node, None)

    def closed(self, now: float) -> set[NodeUuid]:
        """Those to which nothing goes now."""
        return {node for node, (until, _) in self._shut.items() if until > now} if self._shut else set()


def may_move(lot: Lot, is_stranded: bool, now: float) -> bool:
    """May it move once more? What is of a group stays with those who could take it."""
    if not is_stranded and (lot.group or lot.moves >= MOST):
        return False
    return (is_stranded and lot.moves < MOST) or now - lot.came >= APART
