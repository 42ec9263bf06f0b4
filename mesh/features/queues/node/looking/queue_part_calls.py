"""Requests to all parts of a queue at all reachable nodes, and the combination of their replies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from mesh.errors import NoQueue, QueueInUse, RemoteError
from mesh.features.queues.model.looking.parts import by_name, next_ones, together, total
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.looking.lastknown import AwayNode, LastKnown
from mesh.kernel.context.pages import NAMES, ROWS, fitting, page
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.standing import SHOWN
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, PeerReply, Replies
from mesh.printable import count
from mesh.printable import count as counted
from mesh.wire.calls import Ask, AskQueueInfo, AskQueues
from mesh.wire.envelope import Envelope
from mesh.wire.limits import ENVELOPE_BYTES, QUEUES
from mesh.wire.properties import check_properties
from mesh.wire.replies import Peeked, Purged, QueuePart, QueueRow, QueueRows, QueueWhy, R, WhyRow

NodesSaid = Mapping[str, PeerReply[R]]  # replies of other nodes, by name
Came = Callable[[NodesSaid[R], list[str]], None]  # with replies, and nodes without a valid one
CountedEnvelope = tuple[Envelope, bytes]  # with the delivery count of each message
Pieces = list[CountedEnvelope]


UNKNOWN = (
    "Retry when they are reachable (`mesh ls`). `mesh peer rm NODE` forgets a node for good; "
    "if_unused=False, or --force, skips the check."
)


class QueuePartCalls:
    """The requests to other nodes about their parts of queues; `peers` has all other nodes by uuid."""

    def __init__(
        self, nodes: Nodes, questions: PeerCalls, peers: Mapping[bytes, Peer], last_known: LastKnown
    ) -> None:
        self._nodes = nodes
        self._questions = questions
        self._peers = peers
        self.last_known = last_known

    def is_alone(self, queue: QueueSink | None) -> bool:
        """Return whether no other node can have a part of the queue, or of any queue for `None`."""
        return not self._peers or (queue is not None and queue.part.terms.scope == "node")

    def none_of(self, error: NoQueue) -> NoQueue:
        """Return `error`, extended by the live nodes that cannot be asked and may have the queue, if any."""
        nodes = self._nodes.unasked()
        if not nodes:
            return error
        away = ", ".join(nodes[:SHOWN])
        what = f"{error.what.rstrip('.')}; {away}, which may have the queue, cannot be reached."
        otherwise = f"{error.hint[:1].lower()}{error.hint[1:]}"
        return NoQueue(what, hint=f"See `mesh why node {nodes[0]}`. If no node has the queue: {otherwise}")

    def ask_all_nodes(self, ask: Ask, says: type[R], then: Came[R]) -> None:
        """Ask all reachable nodes that support queues, and call `then` with their replies, by node name.

        `then` also receives the names of the nodes without a valid reply, at most `NAMES`. A node that does
        not have the queue is left out of both.
        """

        def came(replies: Replies[R], missing: list[str]) -> None:
            told = {self._peers[u].node.name: each for u, each in replies.items() if u in self._peers}
            self._remember(ask, replies)
            mute = [name for name, each in told.items() if each.code not in ("", NoQueue.code)]
            said = {name: each for name, each in told.items() if not each.code}
            then(said, sorted([*missing, *mute])[:NAMES])

        def begin() -> None:
            self._questions.ask_all([*self._those()], ask, says, came)

        self._questions.when_settled(begin)

    def _remember(self, ask: Ask, replies: Replies[R]) -> None:
        for uuid, told in replies.items():
            peer = self._peers.get(uuid)
            if peer is None:
                continue
            if isinstance(ask, AskQueueInfo) and told.code == NoQueue.code:
                self.last_known.none(peer, ask.name)
            for row in told.value.queues if isinstance(told.value, QueueRows) else ():
                self.last_known.record_row(peer, row)

    def _those(self) -> Iterator[Peer]:
        for peer in self._nodes.askable():
            if peer.data is None or QUEUES in peer.data.speaks:
                yield peer


def row(
    mine: QueueRow, told: NodesSaid[QueueRows], missing: Sequence[str], away: Iterable[AwayNode] = ()
) -> QueueRow:
    """Return the row of a queue, combined from the rows of this node and of others."""
    others = [replace(row, node=name) for name, each in told.items() for row in each.value.queues[:1]]
    return _whole(mine, others, missing, {each.node: each.part for each in [*away][:NAMES]})


def _whole(
    mine: QueueRow, others: Sequence[QueueRow], missing: Sequence[str], away: Mapping[str, QueuePart | None]
) -> QueueRow:
    whole = together(mine, others, missing, away)
    return replace(whole, parts=fitting(whole.parts, ROWS))


def rows(
    mine: QueueRows,
    told: NodesSaid[QueueRows],
    missing: Sequence[str],
    ask: AskQueues,
    parts_away: Callable[[str], Mapping[str, QueuePart | None]] = lambda name: {},
    away: Iterable[AwayNode] = (),
) -> QueueRows:
    """Return a page of all queues, up to the last name that the reports of all nodes cover.

    `parts_away(name)` returns the parts of a queue at unreachable nodes.
    """
    pages = [mine, *(each.value for each in told.values())]
    end = min((one.more for one in pages if one.more), default="")
    theirs = ([replace(row, node=name) for row in each.value.queues] for name, each in told.items())
    found = by_name((mine.queues, *theirs))

    def whole(name: str) -> QueueRow:
        return _whole(found[name][0], found[name][1:], (), parts_away(name))

    queues, more = page([name for name in found if not end or name <= end], whole, ask)
    return QueueRows(queues=queues, more=more or end, missing=list(missing), away=_names(away))


def _names(away: Iterable[AwayNode]) -> list[str]:
    return [each.node for each in away][:NAMES]


def purged(mine: int, told: NodesSaid[Purged], missing: Sequence[str], away: Iterable[AwayNode]) -> Purged:
    """Return how many messages were purged at all nodes that answered, and the names of the other nodes."""
    everywhere = total([mine, *(each.value.purged for each in told.values())])
    return Purged(purged=everywhere, missing=list(missing), away=_names(away))


def check_unused(whole: QueueRow, unknown: Sequence[str]) -> None:
    """Check that the queue has no consumers and no messages at any node. Raises: QueueInUse.

    `unknown` has the names of nodes whose parts may have messages; with any, the check fails.
    """
    at = {part.node: part.ready + part.out + part.delayed + part.going for part in whole.parts}
    messages = total((whole.ready, whole.out, whole.delayed, whole.going))
    if messages or whole.consumers:
        where = [f"{n:,} at {node}" for node, n in at.items() if n]
        where[SHOWN:] = ["…"] if len(where) > SHOWN else []
        what = (
            f"The queue {whole.name!r} has {count(whole.consumers, 'consumer')} and "
            f"{count(messages, 'message')}"
        )
        what = f"{what} ({', '.join(where)})." if where else f"{what}."
        raise QueueInUse(what, hint="To delete it with its contents: if_unused=False, or --force.")
    if unknown:
        raise QueueInUse(f"The queue {whole.name!r} is {not_known('empty', unknown)}", hint=UNKNOWN)


def not_known(what: str, nodes: Sequence[str]) -> str:
    """Return the end of a sentence that names nodes with unknown state."""
    more = f" and {len(nodes) - SHOWN:,} more" if len(nodes) > SHOWN else ""
    return f"not known to be {what}: {', '.join(nodes[:SHOWN])}{more} did not answer."


def peeked(mine: Pieces, told: NodesSaid[Peeked], count: int) -> Pieces:
    """Return at most the next `count` messages of all parts, with their delivery counts.

    The pieces have at most `ENVELOPE_BYTES` in total, but there is at least one if a message is ready.
    """
    pieces = [*mine]
    for each in told.values():
        pieces += _pieces(each)
    return next_ones(pieces, count, ENVELOPE_BYTES)


def _pieces(told: PeerReply[Peeked]) -> Pieces:
    """Return the messages in a node's reply, or none if the reply is invalid."""
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


def why(
    mine: Sequence[WhyRow], told: NodesSaid[QueueWhy], missing: Sequence[str], away: Iterable[AwayNode] = ()
) -> QueueWhy:
    """Return the reasons why messages wait, at this node, at nodes that answered, and at unreachable ones."""
    others = [replace(each, node=name) for name in sorted(told) for each in told[name].value.rows]
    return QueueWhy(rows=fitting([*mine, *others, *map(_why_away, away)], ROWS), missing=list(missing))


def _why_away(away: AwayNode) -> WhyRow:
    part = away.part
    if part is None:
        text = f"the node is unreachable; its queues had {counted(away.messages, 'message')} at last contact"
        return WhyRow(node=away.node, messages=0, why=text, is_cause=True)
    messages = total((part.ready, part.out, part.delayed, part.going))
    text = f"the node is unreachable; the number is {part.as_of:,.0f} s old"
    return WhyRow(node=away.node, messages=messages, why=text, is_cause=messages > 0)
