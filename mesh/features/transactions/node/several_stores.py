"""Commits planned transactions: in one store, or in several by presumed abort (mesh/routing/branches.py)."""

# Law 1: hidden operations are in each store but the node's own before the decision is in that one.
# Law 2: after the decision each store makes its operations durable, the node's own as the last one. All take
#   effect in the event in which that commit ends, so nothing is visible before.
# Law 3: a store that is full before the decision refuses the transaction. Afterwards its commit is retried
#   each second, and the transaction is finishing.
# Law 4: stores in memory have no hidden rows. Without a second durable store there is no decision: they
#   commit first, and the durable commit decides.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain

from msgspec import Struct, field

from mesh.errors import MeshError, StoreFull
from mesh.features.transactions.model.rules import main_store
from mesh.features.transactions.node.planning import Planned
from mesh.kernel.context.disks import Disks
from mesh.kernel.delivery.joint_acceptance import AcceptedEnvelope, JointAcceptance, PlannedEnvelope
from mesh.kernel.forwarding.joint_forwards import PlannedForwards
from mesh.operations import Delete, Op, Put
from mesh.routing.branches import (
    BRANCH,
    HiddenOps,
    TransactionKey,
    decision_row,
    deletions,
    hidden_rows,
    main_key,
)
from mesh.wire.commands import Answer

Ended = Callable[[MeshError | None], None]
OWN = ""  # the node's own store


class Share(Struct, eq=False):
    """The operations of a transaction in one store."""

    store: str
    planned: list[PlannedEnvelope] = field(default_factory=list)
    settled: Sequence[Put] = ()
    hidden: list[Put] = field(default_factory=list)  # rows
    accepted: list[AcceptedEnvelope] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)  # of its last commit, for a retry


class Branch(Struct, eq=False):
    """A transaction over several stores, until it has landed or is refused.

    `ended` is called in the event that delivers all of it, or with the reason of its refusal. `answered` is
    called for each envelope, possibly later if receivers lag behind.
    """

    key: TransactionKey
    shares: dict[str, Share]  # by store
    outcome: list[Op]  # for the commit that decides
    forwards: PlannedForwards  # stored with the last commit
    answered: Callable[[Answer], None]
    ended: Ended
    awaited: int = 0  # commits under way
    error: MeshError | None = None
    full: list[tuple[Share, Callable[[], None]]] = field(default_factory=list)  # to be retried, and then


class SeveralStores:
    """The transactions over several stores that are under way at this node."""

    def __init__(self, disks: Disks, joint: JointAcceptance) -> None:
        self._disks, self._joint = disks, joint
        self._open: dict[TransactionKey, Branch] = {}

    @property
    def finishing(self) -> list[TransactionKey]:
        """The decided transactions that wait for space in a store."""
        return [key for key, each in self._open.items() if each.full]

    def main_store(self, planned: Planned) -> str:
        """Return the store that keeps the outcome of a planned transaction."""
        return main_store({store for store in planned.stores if not self._disks[store].shelf.is_volatile})

    def commit(
        self,
        key: TransactionKey,
        planned: Planned,
        store: str,
        outcome: list[Op],
        answered: Callable[[Answer], None],
        ended: Ended,
    ) -> None:
        """Commit a planned transaction, whose deliveries are held, with its `outcome` in the main `store`.

        `answered` and `ended` are as in Branch.
        """
        settled = planned.settlements.rows() if planned.settlements is not None else {}
        if planned.stores <= {store}:
            disk = self._disks[store]
            with disk.together():  # with earlier messages of the session that go where forwards go
                planned.forwards.hold()
                ops = [*chain.from_iterable(settled.values()), *planned.forwards.store(), *outcome]
                self._joint.store(planned.parts, ops, disk, key[0], answered, ended)
            return
        planned.forwards.hold()
        shares = self._shares_of({*planned.stores, store}, planned.parts, settled)
        self._run(Branch(key, shares, outcome, planned.forwards, answered, ended))

    def _shares_of(
        self, stores: set[str], planned: Iterable[PlannedEnvelope], settled: Mapping[str, Sequence[Put]]
    ) -> dict[str, Share]:
        """Return the operations by store; the last store to commit has the transient messages of others."""
        durable = self._durable(stores)
        last = durable[0] if len(durable) == 1 else OWN
        shares = {store: Share(store, settled=settled.get(store, ())) for store in sorted({*stores, last})}
        for each in planned:
            store = each.lane.shelf.store  # of all messages of its stream and domain, which keep their order
            shares[store if store in shares else last].planned.append(each)
        return shares

    def _durable(self, stores: Iterable[str]) -> list[str]:
        return [store for store in stores if not (store and self._disks[store].shelf.is_volatile)]

    def _run(self, branch: Branch) -> None:
        """Begin to commit a transaction, whose envelopes are reserved from now on."""
        self._open[branch.key] = branch
        for share in branch.shares.values():
            self._joint.expect(share.planned, +1)
        durable = self._durable(branch.shares)
        others = [share for store, share in branch.shares.items() if store not in durable]
        if len(durable) == 1:
            self._accept_all(branch, others, lambda: self._accept_last(branch, branch.shares[durable[0]]))
        else:
            self._hide_all(branch, [branch.shares[store] for store in durable])

    # --- one durable store ------------------------------------------------------------------------------

    def _accept_all(self, branch: Branch, shares: Sequence[Share], then: Callable[[], None]) -> None:
        """Commit `shares` in memory, and continue, or refuse the transaction."""

        def stored(error: MeshError | None) -> None:
            branch.error = branch.error or error
            branch.awaited -= 1
            if not branch.awaited:
                then() if branch.error is None else self._refuse(branch, branch.error)

        branch.awaited = len(shares)
        for share in shares:
            self._disks[share.store].commit(self._accepted_ops(share), stored)

    def _accept_last(self, branch: Branch, share: Share) -> None:
        disk = self._disks[share.store]

        def stored(error: MeshError | None) -> None:
            if error is None:
                self._land(branch)
            else:
                self._refuse(branch, error)

        with disk.together():
            disk.shelf.supersede(branch.outcome)
            disk.commit([*self._accepted_ops(share), *branch.forwards.store(), *branch.outcome], stored)

    def _accepted_ops(self, share: Share) -> list[Op]:
        """Accept the envelopes of one store, and return its operations."""
        self._joint.expect(share.planned, -1)
        share.accepted, more = self._joint.accept(share.planned)
        self._disks[share.store].shelf.supersede(share.settled)
        share.ops = [*share.settled, *more]
        return share.ops

    # --- several durable stores -------------------------------------------------------------------------

    def _hide_all(self, branch: Branch, shares: Sequence[Share]) -> None:
        """Write the hidden rows of each store but the node's own."""

        def stored(error: MeshError | None) -> None:
            branch.error = branch.error or error
            branch.awaited -= 1
            if not branch.awaited:
                self._decide(branch) if branch.error is None else self._refuse(branch, branch.error)

        for share in shares:
            hidden = self._joint.hide(share.planned)
            envelopes = [*hidden.envelopes, *(() if share.store else branch.forwards.hidden())]
            rows = [*hidden.rows, *((op.table, op.key, op.value) for op in share.settled)]
            if envelopes or rows:
                share.hidden = hidden_rows(branch.key, HiddenOps(tuple(envelopes), tuple(rows)))
        others = [share for share in shares if share.store]
        branch.awaited = len(others)
        for share in others:
            self._disks[share.store].commit(share.hidden, stored)

    def _decide(self, branch: Branch) -> None:
        disk, own = self._disks.own, branch.shares[OWN]
        disk.shelf.supersede(branch.outcome)

        def stored(error: MeshError | None) -> None:
            if error is None:
                self._finish(branch)
            else:
                self._refuse(branch, error)

        others = [store for store, share in branch.shares.items() if store and share.hidden]
        disk.commit([*branch.outcome, *own.hidden, decision_row(branch.key, others)], stored)

    def _finish(self, branch: Branch) -> None:
        """Make the operations durable in each store but the node's own."""

        def stored() -> None:
            branch.awaited -= 1
            if not branch.awaited:
                self._end(branch)

        others = [share for store, share in branch.shares.items() if store]
        branch.awaited = len(others)
        for share in others:
            self._accepted_ops(share).extend(deletions(share.hidden))
            self._commit_until_stored(branch, share, stored)

    def _end(self, branch: Branch) -> None:
        own = branch.shares[OWN]
        self._accepted_ops(own).extend([*deletions(own.hidden), Delete(BRANCH, main_key(branch.key))])
        self._commit_until_stored(branch, own, lambda: self._land(branch))

    def _commit_until_stored(self, branch: Branch, share: Share, then: Callable[[], None]) -> None:
        forwards, disk = None if share.store else branch.forwards, self._disks[share.store]

        def stored(error: MeshError | None) -> None:
            if error is None:
                then()
            elif isinstance(error, StoreFull):
                self._joint.forget_positions(share.accepted)
                if forwards is not None:
                    forwards.forget_positions()
                branch.full.append((share, then))

        with disk.together():
            disk.commit([*share.ops, *(forwards.store() if forwards is not None else ())], stored)

    def retry(self) -> None:
        """Repeat the commits for which a store had no space."""
        for branch in [branch for branch in self._open.values() if branch.full]:
            full, branch.full = branch.full, []
            for share, then in full:
                share.ops = self._joint.append_again(share.accepted, share.ops)
                self._commit_until_stored(branch, share, then)

    # --- ends -------------------------------------------------------------------------------------------

    def _land(self, branch: Branch) -> None:
        """Deliver everything in one event."""
        del self._open[branch.key]
        with ExitStack() as together:
            for store in branch.shares:
                together.enter_context(self._disks[store].together())
            for share in branch.shares.values():
                self._joint.land(share.accepted, branch.key[0], branch.answered, None)
            branch.ended(None)

    def _refuse(self, branch: Branch, error: MeshError) -> None:
        del self._open[branch.key]
        for store, share in branch.shares.items():
            if share.accepted:
                self._joint.land(share.accepted, branch.key[0], branch.answered, error)
            else:
                self._joint.expect(share.planned, -1)
                self._joint.refuse(each.envelope for each in share.planned)
            for op in deletions(share.hidden) if store else ():
                assert isinstance(op, Delete)
                self._disks[store].later(BRANCH, op.key, op)
        branch.ended(error)
