"""Asks other nodes for the shared rows that differ from those of this node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import inf

from mesh.discovery.state import Summary
from mesh.errors import LocalError, MeshError
from mesh.kernel.context.incoming_call import IncomingCall
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import fitting
from mesh.kernel.peers.facts import PeerForgotten
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.kernel.sharing.authors import UnknownAuthor
from mesh.kernel.sharing.told import Told, is_worth_asking
from mesh.kernel.states.facts import StateReceived
from mesh.shared.row import SharedRow, row_of
from mesh.shared.table import RowTable
from mesh.wire.calls import Ask, AskRows
from mesh.wire.limits import SHARED
from mesh.wire.replies import R, RowsTold

# Law 1: each node is asked one thing at a time, and no node waits for the answer of another one.
# Law 2: rejected rows of a node are reported once, and do not block its other rows; more than REJECTED do.

AT_ONCE = 64  # rows in one reply; each needs a signature check
WITHIN = 5.0  # s that a node has for a reply
REJECTED = 256  # rows of one exchange

Place = tuple[int, str]  # of a row in the order in which rows are sent: timestamp and name


class RowExchange:
    """The questions for rows between this node and others.

    `accept(row, kind, place, peer)` accepts a row behind `place`, and returns the place of the row. Raises:
    MeshError.
    """

    def __init__(
        self,
        context: NodeContext,
        neighbours: Neighbours,
        questions: PeerCalls,
        tables: Mapping[str, RowTable],
        accept: Callable[[SharedRow, str, Place, Peer], Place],
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._questions = questions
        self._tables = tables
        self._accept = accept
        self.changed: dict[str, float] = {}  # time of the last accepted row, by kind
        self._told = Told()
        self._doubted: set[bytes] = set()  # nodes whose rejected rows were reported

    def on_rows(self, asked: IncomingCall[AskRows]) -> None:
        ask = asked.ask
        table = self._tables.get(ask.kind)
        rows: Iterator[SharedRow] = iter(()) if table is None else table.behind(ask.stamp, ask.name)
        asked.reply(RowsTold(rows=list(fitting(rows, AT_ONCE))))

    def on_state(self, fact: StateReceived) -> None:
        peer = self._neighbours.peers.get(fact.known.state.uuid)
        if peer is None or SHARED not in peer.speaks:
            return
        for theirs in fact.known.state.shared:
            table = self._tables.get(theirs.kind)
            if table is not None and is_worth_asking(theirs, table.summary, self._since_change(theirs.kind)):
                self._ask_newer(peer, theirs, table)

    def _since_change(self, kind: str) -> float:
        return self._context.clock.now - self.changed.get(kind, -inf)

    def _ask_newer(self, peer: Peer, theirs: Summary, table: RowTable) -> None:
        """Ask for newer rows, or for all if none is newer or the retry of skipped rows is due."""
        uuid, kind, now = peer.node.uuid, theirs.kind, self._context.clock.now
        ours = table.summary.stamp
        is_whole = theirs.stamp <= ours or self._told.is_passed_over(uuid, kind, now)
        if is_whole and not self._told.may_ask_for_all(uuid, kind, now):
            return  # the next state announces it again
        if self.may_ask(peer, theirs):
            if is_whole:
                self._told.asks_for_all(uuid, kind, len(table), now)
            self.ask_behind(peer, kind, (-1 if is_whole else ours - 1, ""))

    def may_ask(self, peer: Peer, theirs: Summary) -> bool:
        """Return whether to ask the peer for the rows that it announces; the caller must then ask.

        The result is False while a question to the peer is open. It is also False if neither the announcement
        nor our rows have changed since the last request, unless the retry of a skipped row is due.
        """
        ours = self._tables[theirs.kind].summary
        is_free = peer.reach.question is None
        return is_free and self._told.may_ask(peer.node.uuid, theirs, ours, self._context.clock.now)

    def ask_peer(self, peer: Peer, kind: str, ask: Ask, says: type[R], then: Callable[[R], None]) -> None:
        """Ask the peer about rows of `kind`, and call `then` with the reply, if there is one.

        The first MeshError from `then` for a peer is reported as an event.
        """
        self._told.asks(peer.node.uuid)
        came = partial(self._on_replies, peer, kind, then)
        self._questions.ask_all([peer], ask, says, came, WITHIN, self._neighbours.liveness.send_question)

    def _on_replies(
        self, peer: Peer, kind: str, then: Callable[[R], None], replies: Replies[R], _: list[str]
    ) -> None:
        self._told.record_reply(peer.node.uuid, kind, bool(replies))
        for reply in replies.values():
            try:
                then(reply.value)
            except MeshError as error:
                self._doubt(peer, kind, error)

    def ask_behind(
        self, peer: Peer, kind: str, place: Place, then: Callable[[], None] = lambda: None, rejected: int = 0
    ) -> None:
        """Ask for the rows behind `place`. `rejected` is the number of rows rejected in this exchange."""
        question = AskRows(kind=kind, stamp=place[0], name=place[1])
        self.ask_peer(peer, kind, question, RowsTold, partial(self._rows, peer, kind, place, then, rejected))

    def _rows(
        self, peer: Peer, kind: str, place: Place, then: Callable[[], None], rejected: int, told: RowsTold
    ) -> None:
        for said in told.rows[:AT_ONCE]:
            row = row_of(said)
            try:
                place = self._accept(row, kind, place, peer)
            except LocalError as error:
                if row.kind != kind or row.place <= place:
                    raise
                place = row.place
                if isinstance(error, UnknownAuthor):
                    self._told.passed_over(peer.node.uuid, kind, self._context.clock.now)
                elif (rejected := rejected + 1) > REJECTED:
                    raise
                self._doubt(peer, kind, error)
        if told.rows:
            self.ask_behind(peer, kind, place, then, rejected)
        else:
            then()

    def _doubt(self, peer: Peer, kind: str, error: MeshError) -> None:
        if peer.node.uuid not in self._doubted:
            self._doubted.add(peer.node.uuid)
            self._context.event(
                kind, f"rows of {peer.node.name} were rejected: {error}", peer.node, level="warning"
            )

    def on_peer_forgotten(self, fact: PeerForgotten) -> None:
        self._doubted.discard(fact.peer.node.uuid)
        self._told.forget_node(fact.peer.node.uuid)
