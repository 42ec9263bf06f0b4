"""Rows that all nodes share; a node asks for the rows of another node that differ from its own."""

# Law 1: a row is accepted only if its author signed it and is known here (authors.py), whichever node sends
# it.
# Law 2: each node is asked one thing at a time, and no node waits for the answer of another one.
# Law 3: a deletion that is no longer kept (table.py) leaves memory and disk, and is not accepted again.

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

import msgspec
from msgspec.structs import replace

from mesh.core.context.component import Beginning, Component
from mesh.core.context.disk import Disk
from mesh.core.context.facts import Hearing, on_fact
from mesh.core.context.incoming_call import IncomingCall, Verb, answer
from mesh.core.context.node_context import NodeContext
from mesh.core.context.pages import fitting
from mesh.core.peers.facts import PeerForgotten
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.routes.peer_calls import OnReplies, PeerCalls, Replies
from mesh.core.rules.authors import Authors, UnknownAuthor
from mesh.core.rules.told import Told, is_worth_asking
from mesh.core.states.facts import StateReceived
from mesh.core.states.gossiping import Gossiping
from mesh.discovery.state import Summary
from mesh.errors import LocalError, MeshError
from mesh.operations import Delete, Put
from mesh.shared.row import SharedRow, packed, read, row_of
from mesh.shared.table import ROWS, RowTable
from mesh.wire.calls import Ask, AskRow, AskRows
from mesh.wire.limits import SHARED
from mesh.wire.replies import R, ReplyValue, RowsTold

TABLE = "rule"  # on disk
AT_ONCE = 64  # rows in one reply; each needs a signature check
WITHIN = 5.0  # s that a node has for a reply
SWEEP = 3600.0  # s between two scans for old deletions
OWN = 1 << 16  # the low bits of a timestamp name the node


@dataclass(frozen=True, slots=True)
class RowKind:
    """A kind of rows, with the callbacks of its component.

    `check(row)` raises LocalError for an invalid row. `changed(row, by)` reports a row in force; `by` is the
    peer that sent it, None for this node. A timestamp may be `ahead` ns ahead of the clock; with `by_admin`
    the admin signs the rows.
    """

    name: str
    check: Callable[[SharedRow], None]
    changed: Callable[[SharedRow, Peer | None], None]
    ahead: int = 600 * 10**9
    by_admin: bool = False


class Shared(Component):
    """Component for the tables of all kinds that this release knows."""

    def __init__(
        self,
        desk: NodeContext,
        disk: Disk,
        neighbours: Neighbours,
        authors: Authors,
        questions: PeerCalls,
        gossiping: Gossiping,
    ) -> None:
        self._desk = desk
        self._authors = authors
        self._disk = disk
        self._neighbours = neighbours
        self._questions = questions
        self._gossiping = gossiping
        self._kinds: dict[str, RowKind] = {}
        self._tables: dict[str, RowTable] = {}
        self._changed: dict[str, float] = {}  # time of the last accepted row
        self._told = Told()
        self._doubted: set[bytes] = set()  # nodes whose rejected rows were reported
        self._swept = 0.0

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(StateReceived, self._on_state), on_fact(PeerForgotten, self._on_peer_forgotten))

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskRows, self._on_rows), answer(AskRow, self._given))

    def features(self) -> Sequence[str]:
        return (SHARED,)

    def figures(self) -> dict[str, int | float]:
        return {"shared_rows": sum(map(len, self._tables.values()))}

    # --- for components with rows -------------------------------------------------------------------------

    def add(self, kind: RowKind) -> None:
        self._kinds[kind.name], self._tables[kind.name] = kind, RowTable(kind.name)

    def get(self, kind: str, name: str) -> SharedRow | None:
        return self._tables[kind].get(name)

    def summary(self, kind: str) -> Summary:
        return self._tables[kind].summary

    def stamp(self, kind: str, name: str) -> int:
        """Return a timestamp for a new row, above that of the row in force even if a clock is far ahead."""
        known = self.get(kind, name)
        stamp = max(self._desk.clock.stamp(), known.stamp + 1 if known is not None else 0)
        return stamp + (int.from_bytes(self._desk.me.uuid[-2:]) - stamp) % OWN

    def write_row(self, kind: str, name: str, stamp: int, value: bytes, by: Peer | None = None) -> None:
        """Write a row, signed by this node. Raises: LocalError for an invalid row, or if there is no room.

        A row that is not newer than the one in force is ignored. `by` is the peer whose value this is, if
        any.
        """
        me, keyring = self._desk.me, self._desk.settings.keyring
        row = SharedRow(kind, name, stamp, value, me.uuid, me.boot, me.key if keyring is not None else b"")
        if keyring is not None:
            row = replace(row, signature=keyring.sign(row.text))
        self._check(row)
        self._accept_row(row, by)

    def bring(self, row: SharedRow) -> None:
        """Accept a row of the admin from a client.

        Raises: LocalError as `write_row` does, or for a timestamp in the future.
        """
        self._check_time(row)
        self._check(row)
        self._accept_row(row, None)

    def spread(self, kind: str, name: str, word: str, then: Callable[[], None]) -> None:
        """Send the row to all reachable nodes with the feature `word`.

        `then` is called when all have it, or do not answer.
        """
        ask = AskRow(row=msgspec.to_builtins(self.get(kind, name), builtin_types=(bytes,)))
        self.ask_speaking(word, ask, ReplyValue, lambda replies, missing: then())

    def ask_speaking(self, word: str, ask: Ask, says: type[R], then: OnReplies[R]) -> None:
        """Ask all reachable nodes with the feature `word`, once this node had time to meet its peers."""

        def work() -> None:
            peers = [peer for peer in self._neighbours.alive() if word in peer.speaks]
            self._questions.ask_all(peers, ask, says, then, by=self._neighbours.liveness.send_question)

        self._questions.when_settled(work)

    def learner(self, *kinds: str) -> Callable[[Peer, Callable[[], None]], None]:
        """Return a function that asks a node for newer rows of the given kinds, and then calls `then`.

        `then` is called after all kinds were asked for, and not at all if the node does not answer.
        """

        def learn(peer: Peer, then: Callable[[], None]) -> None:
            for kind in reversed(kinds):
                then = partial(self._learn, kind, peer, then)
            then()

        return learn

    def _learn(self, kind: str, peer: Peer, then: Callable[[], None]) -> None:
        self._ask_behind(peer, kind, (self._tables[kind].summary.stamp - 1, ""), then)

    # --- one row ------------------------------------------------------------------------------------------

    def _check(self, row: SharedRow) -> None:
        if not self._tables[row.kind].has_room(row):
            what = (
                f"The mesh has no room for more rows of {row.kind!r}: the limit is {ROWS:,} rows, and 16 MiB."
            )
            raise LocalError(what, hint="Remove unused ones.", code="TOO_MANY_ROWS")
        if not self._is_signed(row):
            whom = "the admin of this mesh" if self._kinds[row.kind].by_admin else "the node that wrote it"
            raise LocalError(f"The row is not signed by {whom}.", code="WRONG_SIGNATURE")
        self._kinds[row.kind].check(row)

    def _check_time(self, row: SharedRow, by: Peer | None = None) -> None:
        """Check the timestamp by the clock of the author, or of the sending peer, if one is ahead."""
        author = self._neighbours.peers.get(row.author)
        ahead = max(0, *(peer.ahead for peer in (author, by) if peer is not None), 0)
        if row.stamp > self._desk.clock.wall + ahead + self._kinds[row.kind].ahead:
            raise LocalError(
                "The row has a timestamp in the future; a clock may be wrong.", code="CLOCK_AHEAD"
            )

    def _is_signed(self, row: SharedRow) -> bool:
        return self._authors.is_signed(row, self._kinds[row.kind].by_admin)

    def _accept_row(self, row: SharedRow, by: Peer | None) -> None:
        if not self._tables[row.kind].is_news(row):
            return
        self._changed[row.kind] = self._desk.clock.now
        key = f"{row.kind}\0{row.name}".encode()
        self._disk.later(TABLE, key, Put(TABLE, key, packed(row)))
        self._counts(row, by)

    def _counts(self, row: SharedRow, by: Peer | None) -> None:
        self._tables[row.kind].insert(row)
        self._authors.count_row(row)
        self._desk.out.ending[self._summarize] = None  # once per event, as it reads all rows
        self._kinds[row.kind].changed(row, by)
        self._forget_deletions(row.kind)

    def _forget_deletions(self, kind: str) -> None:
        for name in self._tables[kind].drop_deletions(self._desk.clock.believed):
            key = f"{kind}\0{name}".encode()
            self._disk.later(TABLE, key, Delete(TABLE, key))
            self._authors.forgotten(kind, name)

    def on_second(self) -> None:
        if self._desk.clock.now >= self._swept:
            self._swept = self._desk.clock.now + SWEEP
            for kind in self._kinds:
                self._forget_deletions(kind)

    def _summarize(self) -> None:
        """Gossip the new summaries, and commit the rows.

        After a crash the node would otherwise use the earlier rows.
        """
        self._disk.commit_later()
        for kind, table in self._tables.items():
            if len(table):
                self._gossiping.shared[kind] = table.summary

    def start(self, beginning: Beginning) -> None:
        for key, value in beginning.rows(TABLE).items():
            try:
                row = read(value)
                if row.kind not in self._kinds:
                    continue  # of a later release
                if self._tables[row.kind].is_over(row, self._desk.clock.believed):
                    self._disk.later(TABLE, key, Delete(TABLE, key))
                    continue
                self._check(row)
            except MeshError as error:  # other nodes have it too
                self._desk.out.note("warning", f"a shared row is damaged: {error}")
                self._disk.later(TABLE, key, Delete(TABLE, key))
            else:
                self._counts(row, None)

    # --- exchange with nodes ------------------------------------------------------------------------------

    def _on_rows(self, asked: IncomingCall[AskRows]) -> None:
        ask = asked.ask
        table = self._tables.get(ask.kind)
        rows: Iterator[SharedRow] = iter(()) if table is None else table.behind(ask.stamp, ask.name)
        asked.reply(RowsTold(rows=list(fitting(rows, AT_ONCE))))

    def _given(self, asked: IncomingCall[AskRow]) -> None:
        """Accept a row that another node sends, and reply when it is on disk."""
        row = row_of(asked.ask.row)
        if row.kind in self._tables:
            self._one(row, row.kind, (-1, ""), asked.who)
        self._disk.commit_if_any(lambda error: asked.reply(ReplyValue()) if error is None else None)

    def _on_state(self, fact: StateReceived) -> None:
        peer = self._neighbours.peers.get(fact.known.state.uuid)
        if peer is None or SHARED not in peer.speaks:
            return
        for theirs in fact.known.state.shared:
            table = self._tables.get(theirs.kind)
            if table is not None and is_worth_asking(theirs, table.summary, self._since_change(theirs.kind)):
                self._ask_newer(peer, theirs, table)

    def _since_change(self, kind: str) -> float:
        return self._desk.clock.now - self._changed.get(kind, -inf)

    def _ask_newer(self, peer: Peer, theirs: Summary, table: RowTable) -> None:
        """Ask for newer rows, or for all if none is newer or some were skipped."""
        uuid, kind, now = peer.node.uuid, theirs.kind, self._desk.clock.now
        ours = table.summary.stamp
        is_whole = theirs.stamp <= ours or self._told.is_passed_over(uuid, kind, now)
        if is_whole and not self._told.may_ask_for_all(uuid, kind, now):
            return  # the next state announces it again
        if self.may_ask(peer, theirs):
            if is_whole:
                self._told.asks_for_all(uuid, kind, len(table), now)
            self._ask_behind(peer, kind, (-1 if is_whole else ours - 1, ""))

    def may_ask(self, peer: Peer, theirs: Summary) -> bool:
        """Return whether to ask the peer for the rows it announces; the caller must then ask.

        The answer is False while a question is open, or after the same announcement was followed up.
        """
        ours = self._tables[theirs.kind].summary
        is_free = peer.reach.question is None
        return is_free and self._told.may_ask(peer.node.uuid, theirs, ours, self._desk.clock.now)

    def ask_peer(self, peer: Peer, kind: str, ask: Ask, says: type[R], then: Callable[[R], None]) -> None:
        """Ask the peer, and call `then` with the reply, if there is one.

        A MeshError from `then` marks the reply as invalid.
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

    def _ask_behind(
        self, peer: Peer, kind: str, place: tuple[int, str], then: Callable[[], None] = lambda: None
    ) -> None:
        question = AskRows(kind=kind, stamp=place[0], name=place[1])
        self.ask_peer(peer, kind, question, RowsTold, partial(self._rows, peer, kind, place, then))

    def _rows(
        self, peer: Peer, kind: str, place: tuple[int, str], then: Callable[[], None], told: RowsTold
    ) -> None:
        for said in told.rows[:AT_ONCE]:
            row = row_of(said)
            try:
                place = self._one(row, kind, place, peer)
            except UnknownAuthor as error:
                place = row.place
                self._told.passed_over(peer.node.uuid, kind, self._desk.clock.now)
                self._doubt(peer, kind, error)
        if told.rows:
            self._ask_behind(peer, kind, place, then)
        else:
            then()

    def _one(self, row: SharedRow, kind: str, place: tuple[int, str], peer: Peer) -> tuple[int, str]:
        """Accept one row, and return its position."""
        if row.kind != kind or row.place <= place:
            raise LocalError("The row was not requested.", code="BAD_ROW")
        self._check_time(row, peer)
        table = self._tables[kind]
        if table.is_news(row) and not table.is_over(row, self._desk.clock.believed):
            if not self._kinds[kind].by_admin:
                self._authors.check(row, peer)
            self._check(row)
            self._accept_row(row, peer)
        return row.place

    def _doubt(self, peer: Peer, kind: str, error: MeshError) -> None:
        if peer.node.uuid not in self._doubted:
            self._doubted.add(peer.node.uuid)
            self._desk.event(
                kind, f"rows of {peer.node.name} were rejected: {error}", peer.node, level="warning"
            )

    def _on_peer_forgotten(self, fact: PeerForgotten) -> None:
        self._doubted.discard(fact.peer.node.uuid)
        self._told.forget_node(fact.peer.node.uuid)
