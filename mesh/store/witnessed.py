"""A store that detects when its data was rolled back to an earlier state."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from mesh.errors import StoreError
from mesh.operations import Image, Op, StoreReach
from mesh.printable import count
from mesh.store.room import Tell, broken, is_full
from mesh.store.roomy import Roomy
from mesh.store.witness import Statement, Witness

ROLLED_BACK = "STORE_ROLLED_BACK"
PERIOD = 1.0  # s that the witness may be behind


class Witnessed:
    """A store with a witness of its progress.

    Law 5: everything that the witness knows is in the store, or `load` raises STORE_ROLLED_BACK, unless the
    user accepts the rollback.
    """

    def __init__(
        self,
        store: Roomy,
        witness: Witness,
        boot: int,
        tell: Tell,
        accept_rollback: bool = False,
        clock: Callable[[], float] = time.monotonic,
        path: Path | None = None,
        identity: Path | None = None,
    ) -> None:
        """Wrap `store`.

        `path` and `identity` are the files to name in errors, by default beside the witness.
        """
        self._path = path or witness.path.with_name("store.sqlite")
        self._identity = identity or witness.path.with_name("identity.json")
        self._store, self._witness, self._boot = store, witness, boot
        self._tell, self._accept, self._clock = tell, accept_rollback, clock
        self._failure: StoreError | None = None
        self._due = clock()
        self._is_told = True  # whether the witness is up to date
        self.read, self.status, self.copy = store.read, store.status, store.copy

    def load(self) -> Image:
        """Load the store. Raises: as `Store.load`, and StoreError STORE_ROLLED_BACK.

        An accepted rollback raises no error, except if the boot is not above that of the witness.
        """
        image = self._store.load()
        known = self._witness.known
        if known is None:
            if self.reach.commits:
                self._tell("warning", f"{self._witness.path} does not describe the store and is rewritten")
        elif known.boot >= self._boot and not self._witness.is_ours:
            raise self._boot_rolled_back(known)
        elif known.commits > self.reach.commits or known.next_position - 1 > self.reach.log:
            if not self._accept:
                raise self._rolled_back(known)
            self._go_on_after(known)
        self._bear_witness()
        return image

    def commit(self, ops: Sequence[Op]) -> None:
        if self._failure is not None:
            raise self._failure
        self._store.commit(ops)
        self._is_told = False

    def close(self) -> None:
        """Close the store and the witness. Idempotent."""
        self._store.close()
        try:
            if self._has_to_tell:
                self._bear_witness()
        finally:
            self._witness.close()

    @property
    def is_tight(self) -> bool:
        return self._store.is_tight

    @property
    def reach(self) -> StoreReach:
        return self._store.reach

    def tend(self) -> float | None:
        if self._has_to_tell and self._clock() >= self._due:
            self._bear_witness()
        due = self._store.tend()
        if not self._has_to_tell:
            return due
        own = max(0.0, self._due - self._clock())
        return own if due is None else min(own, due)

    @property
    def _has_to_tell(self) -> bool:
        return not self._is_told and self._failure is None

    def _bear_witness(self) -> None:
        self._due = self._clock() + PERIOD
        self._is_told = True
        for is_last in (False, True):
            try:
                self._witness.record_progress(self.reach.commits, self.reach.log + 1)
                return
            except OSError as error:
                if not is_full(error):
                    self._failure = broken(self._witness.path, error)
                    raise self._failure from error
                self._store.release_reserve()
                self._is_told = not is_last  # retried later

    # --- rolled-back stores -----------------------------------------------------------------------------

    def _rolled_back(self, known: Statement) -> StoreError:
        ours = self.reach
        path = self._path
        return StoreError(
            f"{path} went backwards: it holds {count(ours.commits, 'commit')} and is at position "
            f"{ours.log + 1}, but had {known.commits} and was at {known.next_position} before "
            f"(in boot {known.boot}, according to {self._witness.path}). A part of it was "
            "lost, or an old copy took its place.",
            hint="Restore its newest copy, or, to continue without the lost data: mesh up --accept-rollback",
            code=ROLLED_BACK,
        )

    def _boot_rolled_back(self, known: Statement) -> StoreError:
        path = self._identity
        return StoreError(
            f"{path} went backwards: the next boot would be {self._boot}, but boot {known.boot} "
            f"came before, according to {self._witness.path}. The file is an old copy.",
            hint=f'Restore its newest copy, or write "boot": {known.boot} into it.',
            code=ROLLED_BACK,
        )

    def _go_on_after(self, known: Statement) -> None:
        """Continue with a commit count above all lost commits.

        Positions need no such step, because each boot begins above all positions of earlier boots.
        """
        lost_from, lost_to = self.reach.log + 1, known.next_position
        self._store.count_from(max(self.reach.commits, known.commits) + 1)
        self._bear_witness()  # in one slot; the other one must not count again
        lost = f"positions {lost_from}..{lost_to - 1} are lost" if lost_to > lost_from else "commits are lost"
        self._tell("warning", f"store went backwards, as accepted: {lost}")
