"""Commits transactions: plans each without effect, and stores all of it in one commit, or its refusal."""

# Law 1: the settlements and messages of a transaction, and its outcome, are in one commit, and take effect in
#   the event in which it ends.
# Law 2: COMMIT is answered when its outcome is on disk, also if it is a refusal. A repeated one gets the
#   same answer. A refusal that meets a full disk is answered at once, and stored when there is room.
# Law 3: the numbers of a refused transaction are given up.
# Law 4: a question for an outcome decides: without one, the transaction is refused from then on. A session
#   that has left this node for another one commits nothing here.
# Law 5: after a repeated COMMIT the final answers of its messages for other nodes are sent again.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from mesh.errors import LocalError, MeshError, RemoteError
from mesh.features.transactions.model.outcomes import WARNING, EnvelopeOutcome, Outcome
from mesh.features.transactions.model.prepared import PreparedRow
from mesh.features.transactions.model.rules import Verdict, commit_verdict, is_expired, is_within_window
from mesh.features.transactions.node.outcome_rows import OutcomeRows
from mesh.features.transactions.node.planning import Impossible, Planned, Planning
from mesh.features.transactions.node.prepared import PreparedTransactions
from mesh.features.transactions.node.several_stores import SeveralStores
from mesh.features.transactions.wire import COMMIT, PREPARE, Commit
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import ONLY_READS, Conn
from mesh.kernel.context.disks import Disks
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.joint_acceptance import JointAcceptance
from mesh.kernel.subscribers.publishing import Publishing
from mesh.kernel.subscribers.session import Session
from mesh.kernel.subscribers.sessions import Sessions
from mesh.wire.commands import Answer, Reply
from mesh.wire.envelope import Envelope
from mesh.wire.limits import TRANSACTIONS

TransactionKey = tuple[bytes, int]  # stream, number


class Transaction(Struct, eq=False):
    """A transaction under way, and the number of the request that is to be answered."""

    stream: bytes
    number: int
    low: int
    request: int
    envelopes: list[Envelope]
    outcome: Outcome | None = None  # to be answered when nothing is awaited
    awaited: int = 0  # parts that are not answered yet
    known: list[int] = field(default_factory=list)  # indices of envelopes whose domains are not refused
    accepted: list[Answer] = field(default_factory=list)  # to the parts of envelopes
    is_repeated: bool = False  # answers to its messages may be lost
    asked: list[Callable[[Outcome], None]] = field(default_factory=list)  # that await the outcome


class Commits(Component):
    """Component that commits the transactions of clients."""

    def __init__(
        self,
        context: NodeContext,
        disks: Disks,
        publishing: Publishing,
        joint: JointAcceptance,
        planning: Planning,
        rows: OutcomeRows,
        sessions: Sessions,
        several: SeveralStores,
        prepared: PreparedTransactions,
    ) -> None:
        self._context, self._disks = context, disks
        self._publishing, self._joint = publishing, joint
        self._planning, self._rows, self._sessions = planning, rows, sessions
        self._open: dict[TransactionKey, Transaction] = {}
        self._committed = self._refused = 0
        self._several, self._prepared = several, prepared

    def features(self) -> Sequence[str]:
        return (TRANSACTIONS,)

    def from_clients(self) -> Sequence[HandlerEntry]:
        return (on_command(Commit, self._commit),)

    def figures(self) -> dict[str, int | float]:
        return {
            "transactions": self._committed,
            "transactions_refused": self._refused,
            "transactions_finishing": len(self._several.finishing),
        }

    def on_second(self) -> None:
        self._several.retry()

    # --- plan -------------------------------------------------------------------------------------------

    def _commit(self, conn: Conn, session: Session, command: Commit, envelopes: list[Envelope]) -> None:
        """Handle COMMIT. Raises: RemoteError if it breaks the protocol."""
        under_way = self._open.get((session.stream, command.count))
        again = partial(self._commit, conn, session, command, envelopes)
        if under_way is None and self._publishing.held.defer(conn, session.stream, again, envelopes):
            return
        stream, number = session.stream, command.count
        if command.phase not in (COMMIT, PREPARE):
            raise RemoteError(f"COMMIT has the unknown phase {command.phase[:20]!r}", code="MALFORMED")
        if sum(command.sizes) > (most := self._context.settings.transaction_bytes):
            what = f"{session.name} commits {sum(command.sizes):,} bytes; the limit is {most:,}"
            raise RemoteError(what, code="TOO_LARGE")
        if not is_within_window(number, command.low):
            what = f"transaction {number} is not in the window from {command.low}"
            raise RemoteError(f"{session.name} commits with wrong numbers: {what}", code="OUT_OF_ORDER")
        if self._context.visits.has_left(stream, self._context.me.uuid):
            raise RemoteError(f"{session.name} has moved on to another node", code="MOVED")
        refusals = self._publishing.check_together(conn, session, envelopes)
        under_way, low = self._open.get((stream, number)), self._rows.low(stream)
        self._rows.raise_low(stream, command.low)
        outcome = self._rows.find(stream, number)
        verdict = commit_verdict(outcome, under_way is not None, may_run=not refusals)
        if under_way is not None:
            under_way.request, under_way.is_repeated = command.request, True
        elif is_expired(number, low):
            error = LocalError("The outcome of the transaction is no longer known.", code="OUTCOME_EXPIRED")
            self._context.out.send(conn, Reply(command.request, -1, error.code, str(error)))
        elif outcome is not None:
            self._send_reply(conn, command.request, outcome)
            self._publish_again(session, envelopes, outcome)
        else:
            it = self._begin(session, command, envelopes, refusals)
            if verdict is Verdict.REFUSE:
                index, answer = next(iter(refusals.items()))
                self._refuse(it, answer.state, answer.text, len(command.settles) + index)
            else:
                self._run(conn, session, command, it)

    def decide(self, stream: bytes, number: int, low: int, then: Callable[[Outcome], None]) -> None:
        """Call `then` with the outcome of a transaction when that is on disk; without one, refuse it.

        All transactions below `low` are answered. Raises: LocalError if the outcome is no longer known.
        """
        under_way, outcome = self._open.get((stream, number)), self._rows.find(stream, number)
        if under_way is not None:
            under_way.asked.append(then)
        elif outcome is not None:
            then(outcome)
        elif not is_within_window(number, low) or is_expired(number, self._rows.low(stream)):
            raise LocalError("The outcome of the transaction is no longer known.", code="OUTCOME_EXPIRED")
        else:
            it = self._open[stream, number] = Transaction(stream, number, low, 0, [], asked=[then])
            what = f"{self._context.me.name} received the transaction too late: the session has moved."
            self._store_refusal(it, "MOVED", what, -1)

    def _begin(
        self, session: Session, command: Commit, envelopes: list[Envelope], refusals: Mapping[int, Answer]
    ) -> Transaction:
        it = Transaction(session.stream, command.count, command.low, command.request, envelopes)
        # A refused domain may be one too many, so it gets no row.
        it.known = [i for i in range(len(envelopes)) if i not in refusals]
        for i in it.known:
            self._context.counters.accounts.count_published(envelopes[i])
        self._open[it.stream, it.number] = it
        return it

    def _run(self, conn: Conn, session: Session, command: Commit, it: Transaction) -> None:
        try:
            if command.settles and not conn.may_write:
                raise Impossible(LocalError(ONLY_READS, code="NOT_ALLOWED"), 0)
            planned = self._planning.plan_transaction(session, command.settles, it.envelopes)
        except Impossible as reason:
            self._refuse(it, reason.error.code, str(reason.error), reason.index)
            return
        if command.phase == PREPARE:
            self._prepare(conn, session, command, it, planned)
        else:
            self._store(it, planned)

    def _prepare(
        self, conn: Conn, session: Session, command: Commit, it: Transaction, planned: Planned
    ) -> None:
        """Store a transaction whose decision follows, and answer when it is on disk."""
        now, named = self._context.clock.believed, [replace(e, sender=session.text) for e in it.envelopes]
        packed = tuple((e.header(), e.body) for e in named)
        row = PreparedRow(conn.user, command.name, now, command.settles, packed)
        try:
            self._prepared.check(row)
        except LocalError as error:
            self._refuse(it, error.code, str(error), -1)
            return
        outcome = Outcome(now, tuple(EnvelopeOutcome() for _ in it.envelopes))
        it.outcome, it.awaited = outcome, 1

        def landed(error: MeshError | None) -> None:
            if error is None:
                self._rows.record(it.stream, it.number, it.low, "", outcome)
                self._answered(it)
            else:
                self._refuse(it, error.code, str(error), -1)

        ops = self._rows.rows(it.stream, it.number, it.low, outcome)
        self._prepared.prepare((it.stream, it.number), row, planned, ops, landed)

    # --- store and land ---------------------------------------------------------------------------------

    def _store(self, it: Transaction, planned: Planned) -> None:
        held, store = planned.settlements, self._several.main_store(planned)
        outcome = Outcome(self._context.clock.believed, tuple(planned.answers))
        it.outcome, it.awaited = outcome, len(planned.parts) + 1

        def landed(error: MeshError | None) -> None:
            if error is None:
                self._committed += 1
                self._rows.record(it.stream, it.number, it.low, store, outcome)
                if held is not None:
                    held.land()
                planned.forwards.land()
                self._answered(it)
            else:
                if held is not None:
                    held.give_back()
                planned.forwards.give_back()
                self._store_refusal(it, error.code, str(error), -1)
            self._publishing.held.release(it.stream)

        def answered(answer: Answer) -> None:
            if answer.state == "OK":
                it.accepted.append(answer)
                self._answered(it)

        if held is not None:
            held.hold()
        if planned.stores - {store}:
            self._publishing.held.hold(it.stream)
        ops = self._rows.rows(it.stream, it.number, it.low, outcome)
        self._several.commit((it.stream, it.number), planned, store, ops, answered, landed)

    def _answered(self, it: Transaction) -> None:
        it.awaited -= 1
        if not it.awaited:
            self._end(it)

    def _refuse(self, it: Transaction, code: str, text: str, index: int) -> None:
        self._joint.refuse(it.envelopes[i] for i in it.known)
        self._store_refusal(it, code, text, index)

    def _store_refusal(self, it: Transaction, code: str, text: str, index: int) -> None:
        """Store a refusal, and answer it afterwards."""
        self._refused += 1
        it.outcome = Outcome(self._context.clock.believed, (), code, text, index)
        self._rows.store_later(it.stream, it.number, it.low, it.outcome)
        self._disks.own.commit((), lambda _: self._end(it))

    def _end(self, it: Transaction) -> None:
        del self._open[it.stream, it.number]
        assert it.outcome is not None
        for i in it.known:
            answer = _final_answer(it.envelopes[i], i, it.outcome)
            self._context.counters.accounts.count_answer(it.stream, answer)
        for then in it.asked:
            then(it.outcome)
        session = self._sessions.by_stream.get(it.stream)
        if session is not None and session.conn is not None:
            self._send_reply(session.conn, it.request, it.outcome)
            if it.is_repeated:
                self._publish_again(session, it.envelopes, it.outcome)
        for answer in it.accepted if not it.outcome.code else ():
            if it.outcome.is_forwarded(it.envelopes, answer):  # the other parts are on their way
                self._sessions.answer_client(it.stream, answer)

    def _publish_again(self, session: Session, envelopes: Sequence[Envelope], outcome: Outcome) -> None:
        """Process the messages for other nodes as sent again, for answers that were lost."""
        for envelope, answer in zip(envelopes, outcome.answers, strict=False):
            if answer.state == WARNING:
                self._publishing.publish_again(session, envelope)

    def _send_reply(self, conn: Conn, request: int, outcome: Outcome) -> None:
        if outcome.code:
            self._context.out.send(conn, Reply(request, outcome.index, outcome.code, outcome.text))
        else:
            value = [[each.state, each.matched, each.text] for each in outcome.answers]
            self._context.out.send(conn, Reply(request, value))


def _final_answer(e: Envelope, index: int, outcome: Outcome) -> Answer:
    if outcome.code:
        return Answer(e.domain, e.first, e.last, outcome.code, text=outcome.text)
    found = outcome.answers[index]
    return Answer(e.domain, e.first, e.last, found.state, found.matched, found.text)
