"""Rows that all nodes share: which of them are accepted, kept and announced."""

# Law 1: a row is accepted only if its signature and its author fulfill the laws of authors.py, whichever node
# sends it.
# Law 2: a deletion that is no longer kept (table.py) leaves memory and disk, and is not accepted again.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec
from msgspec.structs import replace

from mesh.discovery.state import Summary
from mesh.errors import LocalError, MeshError
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import PeerForgotten
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.peer_calls import OnReplies, PeerCalls
from mesh.kernel.sharing.authors import Authors
from mesh.kernel.sharing.row_exchange import RowExchange
from mesh.kernel.states.facts import StateReceived
from mesh.kernel.states.gossiping import Gossiping
from mesh.operations import Delete, Put
from mesh.shared.row import SharedRow, packed, read, row_of
from mesh.shared.table import BYTES, ROWS, RowTable
from mesh.wire.calls import Ask, AskRow, AskRows
from mesh.wire.limits import SHARED
from mesh.wire.replies import R, ReplyValue

TABLE = "rule"  # on disk
SWEEP = 3600.0  # s between two scans for old deletions
OWN = 1 << 16  # the low bits of a timestamp name the node


@dataclass(frozen=True, slots=True)
class RowKind:
    """A kind of rows, with the callbacks of its component.

    `check(row)` raises LocalError for an invalid row. `changed(row, by)` reports a row in force; `by` is the
    peer that sent the row, or `None`. A timestamp may be `ahead` ns ahead of the clock; with `by_admin` the
    admin signs the rows. A starting node asks for `is_early` rows before it answers clients.
    """

    name: str
    check: Callable[[SharedRow], None]
    changed: Callable[[SharedRow, Peer | None], None]
    ahead: int = 600 * 10**9
    by_admin: bool = False
    is_early: bool = False


class Shared(Component):
    """Component for the tables of all kinds that this release knows."""

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        neighbours: Neighbours,
        authors: Authors,
        questions: PeerCalls,
        gossiping: Gossiping,
    ) -> None:
        self._context = context
        self._authors = authors
        self._disk = disk
        self._neighbours = neighbours
        self._questions = questions
        self._gossiping = gossiping
        self._kinds: dict[str, RowKind] = {}
        self._tables: dict[str, RowTable] = {}
        exchange = self._exchange = RowExchange(context, neighbours, questions, self._tables, self._one)
        self.may_ask, self.ask_peer = exchange.may_ask, exchange.ask_peer
        self._swept = 0.0

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(StateReceived, self._exchange.on_state),
            on_fact(PeerForgotten, self._exchange.on_peer_forgotten),
        )

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskRows, self._exchange.on_rows), answer(AskRow, self._given))

    def features(self) -> Sequence[str]:
        return (SHARED,)

    def figures(self) -> dict[str, int | float]:
        return {"shared_rows": sum(map(len, self._tables.values()))}

    # --- for components with rows -------------------------------------------------------------------------

    def add(self, kind: RowKind) -> None:
        self._kinds[kind.name], self._tables[kind.name] = kind, RowTable(kind.name)

    def get_row(self, kind: str, name: str) -> SharedRow | None:
        return self._tables[kind].get_row(name)

    def summary(self, kind: str) -> Summary:
        return self._tables[kind].summary

    def stamp(self, kind: str, name: str) -> int:
        """Return a timestamp for a new row, above that of the row in force even if a clock is far ahead."""
        known = self.get_row(kind, name)
        stamp = max(self._context.clock.stamp(), known.stamp + 1 if known is not None else 0)
        return stamp + (int.from_bytes(self._context.me.uuid[-2:]) - stamp) % OWN

    def write_row(self, kind: str, name: str, stamp: int, value: bytes, by: Peer | None = None) -> None:
        """Write a row, signed by this node. Raises: LocalError for an invalid row, or if there is no room.

        A row that is not newer than the one in force is ignored. `by` is the peer whose value this is, if
        any.
        """
        me, keyring = self._context.me, self._context.settings.keyring
        row = SharedRow(kind, name, stamp, value, me.uuid, me.boot, me.key if keyring is not None else b"")
        if keyring is not None:
            row = replace(row, signature=keyring.sign(row.text))
        self._check(row)
        self._accept_row(row, by)

    def bring(self, row: SharedRow) -> None:
        """Accept a row that the admin has signed and a client has sent.

        Raises: LocalError as `write_row` does, or for a timestamp in the future.
        """
        self._check_time(row)
        self._check(row)
        self._accept_row(row, None)

    def spread(self, kind: str, name: str, word: str, then: Callable[[], None]) -> None:
        """Send the row to all reachable nodes with the feature `word`.

        `then` is called when each node has it or has not answered in time.
        """
        ask = AskRow(row=msgspec.to_builtins(self.get_row(kind, name), builtin_types=(bytes,)))
        self.ask_speaking(word, ask, ReplyValue, lambda replies, missing: then())

    def ask_speaking(self, word: str, ask: Ask, says: type[R], then: OnReplies[R]) -> None:
        """Ask all reachable nodes with the feature `word`, once this node had time to meet its peers."""

        def work() -> None:
            peers = [peer for peer in self._neighbours.living_peers() if word in peer.speaks]
            self._questions.ask_all(peers, ask, says, then, by=self._neighbours.liveness.send_question)

        self._questions.when_settled(work)

    def learn_early(self, peer: Peer, then: Callable[[], None]) -> None:
        """Ask a node for newer rows of all early kinds, and then call `then`.

        `then` is not called if the node does not answer, or sends an invalid row.
        """
        for kind in reversed([kind.name for kind in self._kinds.values() if kind.is_early]):
            then = partial(self._learn, kind, peer, then)
        then()

    def _learn(self, kind: str, peer: Peer, then: Callable[[], None]) -> None:
        self._exchange.ask_behind(peer, kind, (self._tables[kind].summary.stamp - 1, ""), then)

    # --- one row ------------------------------------------------------------------------------------------

    def _check(self, row: SharedRow) -> None:
        if not self._tables[row.kind].has_room(row):
            what = (
                f"The mesh has no room for the {row.title}: the limits of a kind are {ROWS:,} rows and "
                f"{BYTES >> 20} MiB."
            )
            hint = "Remove unused entries of this kind, such as queues or durable subscriptions."
            raise LocalError(what, hint=hint, code="TOO_MANY_ROWS")
        if not self._is_signed(row):
            raise self._unsigned(row)
        self._kinds[row.kind].check(row)

    def _unsigned(self, row: SharedRow) -> LocalError:
        keyring = self._context.settings.keyring
        if not self._kinds[row.kind].by_admin:
            what, hint = f"The {row.title} is not signed by the node that wrote it.", ""
        elif keyring is not None and not keyring.admin:
            what = f"The keys of {self._context.me.name} name no admin, who must sign the {row.title}."
            hint = "Join again on that machine with a newer token, and restart the node."
        else:
            what, hint = f"The {row.title} is not signed by the admin of this mesh.", ""
        return LocalError(what, hint=hint, code="WRONG_SIGNATURE")

    def _check_time(self, row: SharedRow, by: Peer | None = None) -> None:
        """Check the timestamp by the clock of the author, or of the sending peer, if one is ahead."""
        author = self._neighbours.peers.get(row.author)
        ahead = max(0, *(peer.ahead for peer in (author, by) if peer is not None), 0)
        if row.stamp > self._context.clock.wall + ahead + self._kinds[row.kind].ahead:
            seconds, me = (row.stamp - self._context.clock.wall) / 1e9, self._context.me.name
            raise LocalError(
                f"The timestamp of the {row.title} is {seconds:,.0f} s ahead of the clock of {me}.",
                hint="Correct the clock that is wrong.",
                code="CLOCK_AHEAD",
            )

    def _is_signed(self, row: SharedRow) -> bool:
        return self._authors.is_signed(row, self._kinds[row.kind].by_admin)

    def _accept_row(self, row: SharedRow, by: Peer | None) -> None:
        if not self._tables[row.kind].is_news(row):
            return
        self._exchange.changed[row.kind] = self._context.clock.now
        key = f"{row.kind}\0{row.name}".encode()
        self._disk.later(TABLE, key, Put(TABLE, key, packed(row)))
        self._counts(row, by)

    def _counts(self, row: SharedRow, by: Peer | None) -> None:
        self._tables[row.kind].insert(row)
        self._authors.count_row(row)
        self._context.out.ending[self._summarize] = None  # once per event, as it reads all rows
        self._kinds[row.kind].changed(row, by)
        self._forget_deletions(row.kind)

    def _forget_deletions(self, kind: str) -> None:
        for name in self._tables[kind].drop_deletions(self._context.clock.believed):
            key = f"{kind}\0{name}".encode()
            self._disk.later(TABLE, key, Delete(TABLE, key))
            self._authors.forgotten(kind, name)

    def on_second(self) -> None:
        if self._context.clock.now >= self._swept:
            self._swept = self._context.clock.now + SWEEP
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
            except MeshError as error:  # other nodes have it too
                self._context.out.log_line("warning", f"a shared row is damaged and was removed: {error}")
                self._disk.later(TABLE, key, Delete(TABLE, key))
                continue
            if row.kind not in self._kinds:
                continue  # of a later release
            if self._tables[row.kind].is_over(row, self._context.clock.believed):
                self._disk.later(TABLE, key, Delete(TABLE, key))
                continue
            try:
                self._check(row)
            except MeshError as error:  # with other keys, or with more room, it may be valid again
                self._context.out.log_line("warning", f"the {row.title} of this node is not used: {error}")
            else:
                self._counts(row, None)

    # --- exchange with nodes ------------------------------------------------------------------------------

    def _given(self, asked: IncomingCall[AskRow]) -> None:
        """Accept a row that another node sends, and reply when it is on disk."""
        row = row_of(asked.ask.row)
        if row.kind in self._tables:
            self._one(row, row.kind, (-1, ""), asked.who)
        self._disk.commit_if_any(lambda error: asked.reply(ReplyValue()) if error is None else None)

    def _one(self, row: SharedRow, kind: str, place: tuple[int, str], peer: Peer) -> tuple[int, str]:
        """Accept a row of a peer unless it is obsolete, and return the place of the row.

        Raises: LocalError for an invalid row, or a row that is not of `kind` or not behind `place`.
        """
        if row.kind != kind or row.place <= place:
            raise LocalError(f"This node did not ask for the {row.title}.", code="BAD_ROW")
        self._check_time(row, peer)
        table = self._tables[kind]
        if table.is_news(row) and not table.is_over(row, self._context.clock.believed):
            if not self._kinds[kind].by_admin:
                self._authors.check_author(row, peer)
            self._check(row)
            self._accept_row(row, peer)
        return row.place
