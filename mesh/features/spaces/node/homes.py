"""The spaces whose home is this node: writes, reads, expiry, and the messages about changes."""

# Law 1: a write is answered when it is on disk, with its outcome, the counts and the message about it in
#        the same commit. Reads see only what is on disk.
# Law 2: one batch of a space is written at a time. Writes that arrive meanwhile form the next one.
# Law 3: a home acts only on its leash, and with the values that its definition names.

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from mesh.errors import LocalError, MeshError
from mesh.features.spaces.model.batch import (
    Batch,
    Changed,
    Numbered,
    SpaceState,
    begin_with_copies,
    is_forced,
    with_generation,
)
from mesh.features.spaces.model.definition import Definition, begins_empty, is_without_values, move_command
from mesh.features.spaces.model.space import Head, Limits, Value
from mesh.features.spaces.model.votes import is_live
from mesh.features.spaces.node import rows
from mesh.features.spaces.node.changes import Changes
from mesh.features.spaces.node.facts import SpaceDefinedFact
from mesh.features.spaces.node.holdings import Answer, Holdings, Home
from mesh.features.spaces.node.leashes import Leashes
from mesh.features.spaces.node.spaces import Spaces
from mesh.kernel.context.component import Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.operations import Op

AT_ONCE = 256  # writes of a batch
SESSIONS = 10_000  # sessions with outcomes, of one space
KEPT = 24 * 3600 * 10**9  # ns that outcomes are kept


class Homes(Component):
    """Component with the spaces whose home is this node."""

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        changes: Changes,
        spaces: Spaces,
        leashes: Leashes,
        holdings: Holdings,
    ) -> None:
        self._context = context
        self._disk = disk
        self._changes = changes
        self._spaces = spaces
        self._leashes = leashes
        self._holdings = holdings
        self._removed: deque[tuple[str, str]] = deque()  # values of removed spaces, to be reported
        self._removed_version = 0

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(SpaceDefinedFact, self._on_defined),)

    # --- whether this node acts -------------------------------------------------------------------------

    def check(self, name: str, is_write: bool = False) -> None:
        """Check that this node acts as the home (Law 3).

        Raises: LocalError NOT_HOME, NO_LEASH, or NO_VALUES.
        """
        known, home = self._spaces.find(name), self._holdings.home(name)
        if known is None or not self._spaces.is_home(name):
            raise _not_home(name, "has another home")
        if home.is_paused and is_write:
            raise _not_home(name, "is being moved")
        self._leashes.check(name, known)
        self._begin(home, known)

    def lacks_values(self, name: str) -> bool:
        """Return whether this node is the home, but without the values that it should begin with."""
        try:
            self.check(name)
        except LocalError as error:
            return error.code == "NO_VALUES"
        return False

    def _begin(self, home: Home, known: Definition) -> None:
        """Begin a generation with the values that its definition names. Raises: LocalError NO_VALUES."""
        head = home.state.head
        if head.generation == known.generation:
            return
        if known.version == 0:
            self._holdings.clear(home.name)
        elif head.version != known.version:
            what = f"{self._context.me.name} does not have the values of {home.name} that it was given."
            loss = "" if is_without_values(home.name) else " --accept-loss"
            command = f"{move_command(home.name)} --to {self._context.me.name} --force{loss}"
            hint = f"Restore the store of this node, or begin without them:  {command}"
            raise LocalError(what, hint=hint, code="NO_VALUES")
        elif is_forced(known.version):
            begin_with_copies(home.state, known.generation)
            for op in self._holdings.all_ops(home.name):
                self._disk.later(op.table, op.key, op)
            self._disk.commit_later()
        home.state.head = with_generation(home.state.head, known.generation)

    # --- reads ------------------------------------------------------------------------------------------

    def state(self, name: str) -> SpaceState:
        """Return the committed state of a space, of which this node is, or was, the home."""
        return self._holdings.home(name).state

    def find(self, name: str, key: str) -> Value | None:
        """Return a value that has not expired."""
        value = self._holdings.home(name).state.values.get(key)
        return value if value is not None and value.is_present(self._context.clock.believed) else None

    # --- writes -----------------------------------------------------------------------------------------

    def write(self, name: str, numbered: Numbered, answer: Answer) -> None:
        """Decide a write, and answer with its outcome once that is on disk, or with the error of the disk."""
        try:
            self.check(name, is_write=True)
        except LocalError as error:
            answer(error)
            return
        home = self._holdings.home(name)
        home.waiting.append((numbered, answer))
        self._go_on(home)

    def _go_on(self, home: Home) -> None:
        definition = self._spaces.find(home.name)
        if home.is_writing or definition is None or not (home.waiting or home.expired):
            return
        try:
            self.check(home.name, is_write=True)
        except LocalError as error:
            self._refuse(home, error)
            return
        batch = self._batch(home, definition)
        taken = [home.waiting.popleft() for _ in range(min(AT_ONCE, len(home.waiting)))]
        answers = [(answer, batch.add_write(numbered)) for numbered, answer in taken]
        for key in home.expired:
            batch.add_expiry(key)
        home.expired.clear()
        home.is_writing = True

        def landed(error: MeshError | None) -> None:
            home.is_writing = False
            if error is None:
                self._landed(home, batch)
            failed = error or self._lost(home.name)
            for answer, outcome in answers:
                answer(outcome if failed is None else failed)
            self._go_on(home)
            self._on_idle(home)

        with self._disk.together():
            for change in batch.changes:
                if not change.is_silent:
                    self._changes.publish(home.name, change)
            self._disk.commit(list(self._ops(home, batch)), landed)

    def _on_idle(self, home: Home) -> None:
        while home.on_idle and not home.is_writing:
            home.on_idle.pop(0)()

    # --- pauses and ends --------------------------------------------------------------------------------

    def pause(self, name: str, then: Callable[[Head], None]) -> None:
        """Refuse writes until `resume`, and call `then` with the counts once the values no longer change.

        Raises: LocalError as `check`.
        """
        self.check(name, is_write=True)
        home = self._holdings.home(name)
        home.is_paused = True
        home.on_idle.append(lambda: then(home.state.head))
        self._refuse(home, _not_home(name, "is being moved"))
        self._on_idle(home)

    def resume(self, name: str) -> None:
        self._holdings.home(name).is_paused = False

    def version(self, name: str, known: Definition) -> int:
        """Return the version of the values with which a home begins the next generation.

        A home that began without values, and has written nothing, passes that on (lock_homes.py).
        """
        head = self._holdings.home(name).state.head
        is_empty = begins_empty(known) and head.count == 0
        return head.version if head.generation == known.generation and not is_empty else known.version

    def _on_defined(self, fact: SpaceDefinedFact) -> None:
        """Refuse writes of a space that has another home now, and forget the values of a removed one."""
        if fact.space not in self._holdings.names():
            return
        home = self._holdings.home(fact.space)
        if not is_live(fact.new):
            was_here = fact.old is not None and fact.old.home == self._context.me.uuid
            self._removed += [(fact.space, key) for key in home.state.values if was_here]
            self._removed_version = max(self._removed_version, home.state.head.version)
            self._holdings.clear(fact.space)
            self._disk.commit_later()
            self._context.clock.wake(self._context.clock.now)
        self._go_on(home)

    def _report_removed(self) -> None:
        """Publish the removal of some values of removed spaces."""
        with self._disk.together():
            for _ in range(min(AT_ONCE, len(self._removed))):
                self._removed_version += 1
                name, key = self._removed.popleft()
                self._changes.publish(name, Changed(key, None, self._removed_version))
        if self._removed:
            self._context.clock.wake(self._context.clock.now)

    def _refuse(self, home: Home, error: LocalError) -> None:
        while home.waiting:
            home.waiting.popleft()[1](error)

    def _lost(self, name: str) -> LocalError | None:
        """Return the error if this node no longer acts as the home, so what it wrote may not count."""
        try:
            self.check(name)
        except LocalError as error:
            return error
        return None

    def _batch(self, home: Home, definition: Definition) -> Batch:
        limits = Limits(definition.max_keys, definition.max_bytes)
        return Batch(home.state, limits, self._context.clock.believed)

    def _ops(self, home: Home, batch: Batch) -> Iterator[Op]:
        wall = self._context.clock.believed
        yield rows.put_head(home.name, batch.head)
        for key, value in batch.values():
            if value is None:
                yield rows.delete_value(home.name, key)
            else:
                yield rows.put_value(home.name, key, value)
        for stream, outcomes in batch.outcomes.items():
            yield rows.put_outcomes(home.name, stream, outcomes, wall)
        yield from self._outdated(home, batch, wall)

    def _outdated(self, home: Home, batch: Batch, wall: int) -> Iterator[Op]:
        """Forget the outcomes of sessions that have not written for a day, or of the oldest of too many."""
        for stream in batch.outcomes:
            home.used.pop(stream, None)
            home.used[stream] = wall
        for stream, last in list(home.used.items()):
            if last + KEPT > wall and len(home.used) <= SESSIONS:
                break
            del home.used[stream]
            home.state.outcomes.pop(stream, None)
            yield rows.delete_outcomes(home.name, stream)

    def _landed(self, home: Home, batch: Batch) -> None:
        batch.apply()
        for key, value in batch.values():
            if value is not None:
                self._holdings.await_end(home.name, key, value)

    # --- expiry -----------------------------------------------------------------------------------------

    def tick(self) -> None:
        clock = self._context.clock
        if self._removed:
            self._report_removed()
        due = set[str]()
        for name, key in self._holdings.pop_expired(clock.believed):
            if self._spaces.is_home(name):
                self._holdings.home(name).expired.add(key)
                due.add(name)
        for name in sorted(due):
            self._go_on(self._holdings.home(name))
        if self._holdings.next_end:
            clock.wake(clock.now + (self._holdings.next_end - clock.believed) / 1e9 + 0.001)


def _not_home(name: str, why: str) -> LocalError:
    return LocalError(f"{name} {why}.", hint="Try again in a moment.", code="NOT_HOME")
