"""The locks whose home is this node: grants on disk, open questions, and the ends of leases."""

# Law 1: a grant is on disk before it is answered, with the counts of its space, from which tokens come.
# Law 2: nothing is granted, renewed or ended while this node does not act as the home.

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

from mesh.errors import LocalError, MeshError
from mesh.features.spaces.model.batch import Numbered
from mesh.features.spaces.model.definition import LOCK, Definition, begins_empty
from mesh.features.spaces.model.locks import Answer, Claim, Lock, Locks, Request
from mesh.features.spaces.model.space import Outcome
from mesh.features.spaces.node.homes import Homes
from mesh.features.spaces.node.lock_rows import MAX_LEASE, owner_of, write_of
from mesh.features.spaces.node.spaces import Spaces
from mesh.kernel.context.component import Component
from mesh.kernel.context.node_context import NodeContext
from mesh.reasons.reason import reason
from mesh.reasons.what import LOCK as WHY
from mesh.reasons.what import What
from mesh.wire.replies import Reason

REFUSALS = {"MAP_FULL": "TOO_MANY_LOCKS"}  # code of a write: code of a lock

COMMIT = 0.5  # s: a question that only waits for a commit is looked at again

Then = Callable[[Answer | MeshError], None]
Name = tuple[str, Request]  # lock, use


@dataclass(slots=True)
class Table:
    """The locks of one space, with the questions that wait for them."""

    generation: int
    locks: Locks
    open: dict[Name, tuple[int, Then]] = field(default_factory=dict)  # with numbers of the questions
    releases: dict[str, list[Then]] = field(default_factory=dict)  # by lock
    storing: int = 0  # changes under way


class LockHomes(Component):
    """Component with the locks whose home is this node."""

    def __init__(self, context: NodeContext, spaces: Spaces, homes: Homes) -> None:
        self._context = context
        self._spaces = spaces
        self._homes = homes
        self._tables: dict[str, Table] = {}
        self._due: list[tuple[float, int, str, Name]] = []  # heap: when an open question is answered
        self._numbers = count(1)

    def figures(self) -> dict[str, int | float]:
        tables = self._tables.values()
        return {
            "locks_held": sum(len(table.locks) for table in tables),
            "lock_waiters": sum(table.locks.waiting for table in tables),
        }

    def table(self, space: str) -> Table:
        """Return the locks of a space. Raises: LocalError if this node does not act as its home (Law 2)."""
        self._homes.check(space, is_write=True)
        known = self._spaces.find(space)
        assert known is not None
        found = self._tables.get(space)
        if found is None or found.generation != known.generation:
            if found is not None and found.storing:
                raise LocalError(f"{space} is being moved.", hint="Try again in a moment.", code="NOT_HOME")
            if found is not None:
                self._drop(found)
            found = self._tables[space] = Table(known.generation, self._restored(space, known))
        return found

    def _restored(self, space: str, known: Definition) -> Locks:
        """Return the locks of the rows of a space, with full leases.

        A home that began without the rows of the former one grants nothing while leases of that may run.
        """
        state, now = self._homes.state(space), self._context.clock.now
        is_unaware = begins_empty(known) and state.head.count == 0
        locks = Locks(now + MAX_LEASE if is_unaware else 0.0)
        for name, value in state.values.items():
            locks.restore(name, owner_of(value), value.version, now)
        return locks

    # --- requests ---------------------------------------------------------------------------------------

    def ask(
        self, space: str, name: str, claim: Claim, count: int, can_wait: bool, hold: float, then: Then
    ) -> None:
        """Call `then` with the answer to a request: within `hold` s, unless a commit takes longer."""
        table, now = self.table(space), self._context.clock.now
        answer = table.locks.ask(name, claim, count, can_wait, now)
        use = (name, claim.request)
        if answer is not None:
            self._end_question(table, use, answer)
            then(answer)
            return
        number = next(self._numbers)
        self._end_question(table, use, Answer())
        table.open[use] = number, then
        heappush(self._due, (now + hold, number, space, use))
        self._context.clock.wake(now + hold)
        self._store(space, table)

    def release(self, space: str, name: str, request: Request, then: Then) -> None:
        """End a use of a lock, and call `then` when that is on disk."""
        table = self.table(space)
        is_stored = table.locks.release(name, request, self._context.clock.now)
        self._end_question(table, (name, request), Answer(code="LOCK_LOST"))
        if is_stored:
            table.releases.setdefault(name, []).append(then)
        else:
            then(Answer())
        self._store(space, table)

    def explain(self, what: What) -> Iterator[Reason]:
        space = what.domain or f"{LOCK}/default"
        if what.kind != WHY or not self._spaces.is_home(space):
            return
        try:
            lock = self.table(space).locks.find(what.text)
        except LocalError as error:
            yield reason("LOCK_STOPPED", why=error.what.rstrip("."))
            return
        if lock is None or lock.owner is None:
            yield reason("LOCK_FREE")
        else:
            left = f"{max(0.0, lock.ends - self._context.clock.now):.1f}"
            n = f"{len(lock.waiting):,}"
            yield reason("LOCK_HELD", client=lock.owner.client, token=str(lock.token), left=left, n=n)

    def held(self, space: str) -> Iterator[tuple[str, Lock]]:
        """Yield the held locks of a space, by name."""
        return self.table(space).locks.named()

    def _end_question(self, table: Table, use: Name, answer: Answer | MeshError) -> None:
        found = table.open.pop(use, None)
        if found is not None:
            found[1](answer)

    # --- commits ----------------------------------------------------------------------------------------

    def _store(self, space: str, table: Table) -> None:
        """Store the changes of a table; what they lead to follows when they are on disk."""
        changes, table.locks.changes = table.locks.changes, []
        table.storing += len(changes)
        for change in changes:

            def stored(outcome: Outcome | MeshError, name: str = change.name) -> None:
                self._on_stored(space, table, name, outcome)

            self._homes.write(space, Numbered(b"", 0, 0, write_of(change)), stored)

    def _on_stored(self, space: str, table: Table, name: str, outcome: Outcome | MeshError) -> None:
        table.storing -= 1
        refusal = _refusal(outcome)
        if refusal is None:
            assert isinstance(outcome, Outcome)
            owner = table.locks.on_stored(name, outcome.version, self._context.clock.now)
            if owner is not None:
                waiting = len(table.locks.waiting_for(name))
                self._end_question(table, (name, owner.request), Answer(outcome.version, waiting))
        else:
            refused = table.locks.on_failed(name)
            if refused is not None:
                self._end_question(table, (name, refused.request), refusal)
        for then in table.releases.pop(name, ()):
            then(Answer() if refusal is None or isinstance(refusal, Answer) else refusal)
        self._store(space, table)
        self._context.clock.wake(self._context.clock.now)  # the next lease may end earlier

    # --- time -------------------------------------------------------------------------------------------

    def tick(self) -> None:
        now = self._context.clock.now
        while self._due and self._due[0][0] <= now:
            _, number, space, use = heappop(self._due)
            table = self._tables.get(space)
            if table is None or table.open.get(use, (0, None))[0] != number:
                continue
            if table.locks.is_next(*use, now):
                heappush(self._due, (now + COMMIT, number, space, use))
            else:
                self._end_question(table, use, Answer(waiting=len(table.locks.waiting_for(*use))))
        if self._due:
            self._context.clock.wake(self._due[0][0])
        for space, table in self._acting():
            self._context.clock.wake(table.locks.tick(now))
            self._store(space, table)

    def on_second(self) -> None:
        for space, _ in list(self._spaces.all(f"{LOCK}/")):
            if self._spaces.is_home(space) and space not in self._tables:
                self._try_table(space)  # leases begin when this node begins to act
        for space, table in self._acting():
            table.locks.review(self._context.clock.now)
            self._store(space, table)

    def _acting(self) -> Iterator[tuple[str, Table]]:
        """Yield the tables of the spaces for which this node acts; tables of former homes are dropped."""
        for space in list(self._tables):
            if not self._spaces.is_home(space):
                self._drop(self._tables.pop(space))
            elif (table := self._try_table(space)) is not None:
                yield space, table

    def _try_table(self, space: str) -> Table | None:
        try:
            return self.table(space)
        except LocalError:
            return None

    def _drop(self, table: Table) -> None:
        error = LocalError("The locks have another home now.", hint="Try again.", code="NOT_HOME")
        for use in list(table.open):
            self._end_question(table, use, error)


def _refusal(outcome: Outcome | MeshError) -> Answer | MeshError | None:
    """Return the refusal in the outcome of a write, or `None`."""
    if isinstance(outcome, MeshError):
        return outcome
    return Answer(code=REFUSALS.get(outcome.code, outcome.code)) if outcome.code else None
