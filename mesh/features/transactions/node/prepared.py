"""Prepared transactions: they wait on disk for the decision of an outer coordinator, over restarts."""

# Law 1: a prepared transaction keeps its deliveries and its capacity until it is decided. No timer decides.
# Law 2: its messages get stream, number and position at the decision, so nothing waits for them. One
#   transaction is committed at a time, in the order of the decisions.
# Law 3: rights and limits are checked when it is prepared. A message that is refused at the decision for
#   another reason, such as a deleted queue, becomes a dead letter.
# Law 4: a decision that a full store refuses leaves the transaction prepared.

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence

from mesh.errors import LocalError, MeshError, StoreError, StoreFull
from mesh.features.transactions.model.prepared import (
    COMMITTED,
    KEPT,
    REFUSED,
    Decisions,
    Name,
    PreparedRow,
    decision_put,
    deletions_of,
    restored,
)
from mesh.features.transactions.node.planning import Impossible, Planned, Planning
from mesh.features.transactions.node.prepared_transaction import (
    WAITING,
    Decided,
    Prepared,
    backlog,
    check_room,
    check_xid,
    renumbered,
)
from mesh.features.transactions.node.several_stores import SeveralStores
from mesh.features.transactions.wire import ACK, Settled
from mesh.flow.outstanding_deliveries import ranges_of
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disks import Disks
from mesh.kernel.context.leaving import Fate, Left, Step
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import JointSettlements, JointSettling
from mesh.kernel.delivery.joint_acceptance import JointAcceptance
from mesh.kernel.forwarding.deadletters import DeadLetters
from mesh.names import PUTS, QUEUE
from mesh.operations import Delete, Op
from mesh.printable import count
from mesh.reasons.reason import ago
from mesh.routing.branches import BRANCH, TransactionKey
from mesh.snapshots.waiting import Waiting
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope

DONE = "done"  # table


class PreparedTransactions(Component):
    """Component that keeps prepared transactions, and carries out the decisions about them."""

    def __init__(
        self,
        context: NodeContext,
        disks: Disks,
        joint: JointAcceptance,
        planning: Planning,
        several: SeveralStores,
        dead: DeadLetters,
    ) -> None:
        self._context, self._disks, self._joint = context, disks, joint
        self._planning, self._several, self._dead = planning, several, dead
        self._all: dict[Name, Prepared] = {}
        self._decisions = Decisions()
        self._queue: deque[Prepared] = deque()  # to be committed
        self._running: Prepared | None = None
        self._stream = b""  # of the messages of decided transactions, from the first one on
        self._numbers: dict[str, int] = {}  # by domain: the last number

    def __iter__(self) -> Iterator[Prepared]:
        return iter(self._all.values())

    def figures(self) -> dict[str, int | float]:
        age = self._backlog().oldest or 0.0
        return {"transactions_prepared": len(self._all), "transactions_prepared_age": age}

    def waiting(self, names: Collection[str]) -> Iterator[Waiting]:
        if self._all or WAITING in names:
            yield self._backlog()

    def _backlog(self) -> Waiting:
        return backlog(self._all.values(), self._context.clock.believed)

    def remains(self) -> Iterator[Left]:
        if self._all:
            why = "they wait on disk for a decision: `mesh tx ls`"
            yield Left(Step.QUEUES, "prepared transactions", len(self._all), Fate.WAITS, why=why)

    # --- start ------------------------------------------------------------------------------------------

    def start(self, beginning: Beginning) -> None:
        for key in self._decisions.restore(beginning.rows(DONE)):
            self._disks.own.later(DONE, key, Delete(DONE, key))
        try:
            found = list(restored(beginning.rows(BRANCH)))
        except MeshError as error:
            what = f"A prepared transaction cannot be read: {error.what}."
            raise StoreError(what, hint="Start the release that wrote it.") from error
        joint = self._settling
        for place, row, places in found:
            it = self._all[row.user, row.name] = Prepared(place, row, places, None)
            if joint is not None:
                for each in row.settles:
                    joint.hold_restored(it.token, each.queue, each.stream, list(ranges_of(each.numbers)))

    def on_restored(self) -> None:
        for it in self._all.values():
            if (joint := self._settling) is not None:
                it.settlements = joint.restored_settlements(it.token)
                for each in it.row.settles:
                    self._settle_again(it.settlements, each)
                it.settlements.hold(is_prepared=True)
            it.reserved, it.forwards = self._planning.plan_reserved(self._renumbered(it.row.decoded(), {}))
            self._keep(it, +1)

    @property
    def _settling(self) -> JointSettling | None:
        return self._context.face.joint_settling.get(QUEUE)

    def _settle_again(self, settlements: JointSettlements, each: Settled) -> None:
        """Add the deliveries that still exist: the others have expired, or were transient."""
        for number in (n for first, last in ranges_of(each.numbers) for n in range(first, last + 1)):
            try:
                settlements.add_settled(
                    each.queue, each.stream, [(number, number)], each.what == ACK, each.delay
                )
            except LocalError:
                continue

    def _keep(self, it: Prepared, sign: int) -> None:
        """Reserve the capacity of a transaction, or release it, and keep its queues."""
        self._reserve(it, sign)
        for each in it.reserved:
            if (joint := self._settling) is not None and each.envelope.to.startswith(PUTS):
                joint.keep_queue(each.envelope.to.removeprefix(PUTS), sign)

    def _reserve(self, it: Prepared, sign: int) -> None:
        self._joint.expect(it.reserved, sign)
        if it.forwards is not None:
            it.forwards.reserve(sign)

    # --- prepare ----------------------------------------------------------------------------------------

    def check(self, row: PreparedRow) -> None:
        """Raise LocalError if a transaction must not be prepared under its name, or not now."""
        check_xid(row.name)
        check_room(row, (it.row for it in self._all.values()), self._decisions.find((row.user, row.name)))

    def prepare(
        self,
        key: TransactionKey,
        row: PreparedRow,
        planned: Planned,
        ops: list[Op],
        landed: Callable[[MeshError | None], None],
    ) -> None:
        """Hold and store a planned transaction, with `ops`, and call `landed` when it is prepared or not."""
        puts = row.puts(key)
        places = [put.key for put in puts]
        it = Prepared(key, row, places, planned.settlements, planned.parts, planned.forwards)
        self._all[it.name] = it
        if it.settlements is not None:
            it.settlements.hold(is_prepared=True)
        self._keep(it, +1)

        def stored(error: MeshError | None) -> None:
            if error is not None:
                self._forget(it)
                if it.settlements is not None:
                    it.settlements.give_back()
            landed(error)

        self._disks.own.shelf.supersede(ops)
        self._disks.own.commit([*puts, *ops], stored)

    def _forget(self, it: Prepared) -> None:
        del self._all[it.name]
        self._keep(it, -1)

    # --- decide -----------------------------------------------------------------------------------------

    def outcome_of(self, name: str) -> str:
        """Return the outcome of the transaction of that name which was decided last, or ""."""
        return self._decisions.of_name(name)

    def is_known(self, name: str, user: str) -> bool:
        """Return whether the user has prepared a transaction of that name, which may be decided."""
        return (user, name) in self._all or bool(self._decisions.find((user, name)))

    def decide(self, name: str, user: str | None, commits: bool, then: Decided) -> None:
        """Commit a transaction or roll it back, and call `then` with the outcome, or the error.

        Without a `user`, the transaction may be that of any user.
        """
        if user is None:
            user = next((u for u, n in self._all if n == name), None)
        it = self._all.get((user or "", name)) if user is not None else None
        outcome = self.outcome_of(name) if user is None else self._decisions.find((user, name))
        if it is None:
            what = f"No transaction {name!r} is prepared at {self._context.me.name}."
            hint = "See `mesh tx ls`. Outcomes are kept for 7 days."
            then(outcome or LocalError(what, hint=hint, code="NO_TRANSACTION"))
            return
        it.deciders.append(then)
        if len(it.deciders) > 1:
            return
        if commits:
            self._queue.append(it)
            self._commit_next()
        else:
            self._roll_back(it)

    def _roll_back(self, it: Prepared) -> None:
        def stored(error: MeshError | None) -> None:
            if error is None and it.settlements is not None:
                it.settlements.give_back(to_consumers=False)
            self._on_decided(it, REFUSED, error)

        self._disks.own.commit(self._outcome(it, REFUSED), stored)

    def _outcome(self, it: Prepared, outcome: str) -> list[Op]:
        return [decision_put(it.name, outcome, self._context.clock.believed), *deletions_of(it.places)]

    def _on_decided(self, it: Prepared, outcome: str, error: MeshError | None) -> None:
        if error is None:
            for key in self._decisions.record(it.name, outcome, self._context.clock.believed):
                self._disks.own.later(DONE, key, Delete(DONE, key))
            self._forget(it)
        deciders, it.deciders = it.deciders, []
        for then in deciders:
            then(outcome if error is None else LocalError(error.what, hint=error.hint, code=error.code))

    def _commit_next(self) -> None:
        if self._running is not None or not self._queue:
            return
        it = self._running = self._queue.popleft()
        self._reserve(it, -1)
        try:
            envelopes = self._renumbered(it.row.decoded(), self._numbers)
            planned, refused = self._planning.plan_decided(it.settlements, envelopes)
        except Impossible as reason:
            self._on_committed(it, None, (), reason.error)
            return
        planned.stores.add("")

        def ended(error: MeshError | None) -> None:
            self._on_committed(it, planned, refused, error)

        ops = self._outcome(it, COMMITTED)
        self._several.commit(it.key, planned, "", ops, lambda answer: None, ended)

    def _on_committed(
        self,
        it: Prepared,
        planned: Planned | None,
        refused: Sequence[tuple[Envelope, LocalError]],
        error: MeshError | None,
    ) -> None:
        self._reserve(it, +1)
        self._running = None
        if error is None and planned is not None:
            if it.settlements is not None:
                it.settlements.land()
            planned.forwards.land()
            for e, why in refused:
                self._dead.publish_refused(
                    e, Answer(e.domain, e.first, e.last, why.code, text=why.what), is_joint=True
                )
        elif planned is not None:
            planned.forwards.give_back()
        if error is None or isinstance(error, (LocalError, StoreFull)):
            self._on_decided(it, COMMITTED, error)
        self._commit_next()

    def _renumbered(self, envelopes: Sequence[Envelope], numbers: dict[str, int]) -> list[Envelope]:
        self._stream = self._stream or self._context.ids(16)
        return renumbered(envelopes, self._stream, numbers)

    # --- time -------------------------------------------------------------------------------------------

    def on_second(self) -> None:
        now, warning = self._context.clock.believed, self._context.settings.prepared_warning * 1e9
        for key in self._decisions.expire(now - KEPT):
            self._disks.own.later(DONE, key, Delete(DONE, key))
        for it in self._all.values():
            if not it.is_warned and now - it.row.since > warning:
                it.is_warned = True
                name, age = f"{self._context.me.name}/{it.row.name}", ago((now - it.row.since) / 1e9)
                text = f"{name}: prepared {age} ago, with {count(it.row.operations, 'operation')}; "
                self._context.event("transaction", f"{text}decide it: mesh tx ls", level="warning")
