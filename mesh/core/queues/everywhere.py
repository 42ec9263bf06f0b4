"""What is asked of all parts of a queue, at all nodes that can be asked?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from mesh.core.desk.pages import NAMES, ROWS, fitting, page
from mesh.core.peers.peer import Peer
from mesh.core.queues.here import QueueHere
from mesh.core.ways.nodes import Nodes
from mesh.core.ways.questions import Questions, Replies, Told
from mesh.errors import NoQueue, RemoteError
from mesh.queues.parts import by_name, next_ones, together, total
from mesh.wire.calls import Ask, AskQueues
from mesh.wire.envelope import Envelope
from mesh.wire.limits import ENVELOPE_BYTES, QUEUES
from mesh.wire.properties import check_properties
from mesh.wire.replies import Peeked, Purged, QueueRow, QueueRows, QueueWhy, R, WhyRow

Said = Mapping[str, Told[R]]  # what other nodes say, by their names
Came = Callable[[Said[R], list[str]], None]  # (that, and who did not answer)
Piece = tuple[Envelope, bytes]  # and how often each of its messages was given to somebody
Pieces = list[Piece]


class Everywhere:
    """The other parts. `peers`: all other nodes, by uuid."""

    def __init__(self, nodes: Nodes, questions: Questions, peers: Mapping[bytes, Peer]) -> None:
        self._nodes = nodes
        self._questions = questions
        self._peers = peers

    def is_alone(self, queue: QueueHere | None) -> bool:
        """Are there no other parts?"""
        return not self._peers or (queue is not None and queue.part.terms.scope == "node")

    def ask(self, ask: Ask, says: type[R], then: Came[R]) -> None:
        """Ask all. Who knows of no such queue has no part of it."""

        def came(replies: Replies[R], missing: list[str]) -> None:
            told = {self._peers[u].node.name: each for u, each in replies.items() if u in self._peers}
            mute = [name for name, each in told.items() if each.code not in ("", NoQueue.code)]
            said = {name: each for name, each in told.items() if not each.code}
            then(said, sorted([*missing, *mute])[:NAMES])

        def begin() -> None:
            self._questions.ask_all([*self._those()], ask, says, came)

        self._questions.when_settled(begin)

    def _those(self) -> Iterator[Peer]:
        for peer in self._nodes.askable():
            if peer.data is None or QUEUES in peer.data.speaks:
                yield peer


def row(mine: QueueRow, told: Said[QueueRows], missing: Sequence[str]) -> QueueRow:
    """A queue with all its parts."""
    others = [replace(row, node=name) for name, each in told.items() for row in each.value.queues[:1]]
    return _whole(mine, others, missing)


def _whole(mine: QueueRow, others: Sequence[QueueRow], missing: Sequence[str]) -> QueueRow:
    whole = together(mine, others, missing)
    return replace(whole, parts=fitting(whole.parts, ROWS))


def rows(mine: QueueRows, told: Said[QueueRows], missing: Sequence[str], ask: AskQueues) -> QueueRows:
    """A page of all queues: as far as all nodes have said what they have."""
    pages = [mine, *(each.value for each in told.values())]
    end = min((one.more for one in pages if one.more), default="")
    theirs = ([replace(row, node=name) for row in each.value.queues] for name, each in told.items())
    found = by_name((mine.queues, *theirs))

    def whole(name: str) -> QueueRow:
        return _whole(found[name][0], found[name][1:], ())

    queues, more = page([name for name in found if not end or name <= end], whole, ask)
    return QueueRows(queues=queues, more=more or end, missing=list(missing))


def purged(mine: int, told: Said[Purged], missing: Sequence[str]) -> Purged:
    """How much was thrown away of all parts."""
    return Purged(purged=total([mine, *(each.value.purged for each in told.values())]), missing=list(missing))


def peeked(mine: Pieces, told: Said[Peeked], count: int) -> Pieces:
    """What comes next of all parts."""
    pieces = [*mine]
    for each in told.values():
        pieces += _pieces(each)
    return next_ones(pieces, count, ENVELOPE_BYTES)


def _pieces(told: Told[Peeked]) -> Pieces:
    """What a node says of its own; nothing, if that cannot be."""
    envelopes = [envelope for envelope, _ in told.found]
    tries = told.value.tries
    try:
        for envelope in envelopes:
            check_properties(envelope)
        column = bytes(tries)
    except (RemoteError, ValueError):
        return []
    if len(column) != sum(envelope.count for envelope in envelopes):
        return []
    pieces: Pieces = []
    for envelope in envelopes:
        pieces.append((envelope, column[: envelope.count]))
        column = column[envelope.count :]
    return pieces


def why(mine: Sequence[WhyRow], told: Said[QueueWhy], missing: Sequence[str]) -> QueueWhy:
    """Why something waits, at each node."""
    others = [replace(each, node=name) for name in sorted(told) for each in told[name].value.rows]
    return QueueWhy(rows=fitting([*mine, *others], ROWS), missing=list(missing))
