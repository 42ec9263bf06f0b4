"""What else must hold for a store on a disk? It never goes backwards unseen, and a full disk stops no ack."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from mesh.errors import StoreError, StoreFull
from mesh.operations import Append, Image, Op, Put, Reach
from mesh.store.room import Room, Tell, is_full, reserve_of
from mesh.store.sqlite import CHECKPOINT, SQLiteStore
from mesh.store.witness import Statement, Witness

ROLLED_BACK = "STORE_ROLLED_BACK"
PERIOD = 1.0  # s between two looks at the disk, and for which the witness may be behind
SMALLEST = 64 * 1024  # bytes of the log before which it is never moved into the file


class GuardedStore:
    """Keeps the law of a store, and two more. `refused` counts commits that found too little room.

    Law 5: what the witness knows of is in the store, or `load` raises STORE_ROLLED_BACK.
    Law 6: what only takes away, or is small, is committed for as long as the reserve reaches; what adds
    envelopes or last values is StoreFull before that.
    """

    store_made: Callable[[Path, int], SQLiteStore] = SQLiteStore
    room_made = Room

    def __init__(
        self,
        directory: Path,
        store: bytes,
        boot: int,
        wanted: int,
        tell: Tell,
        accept_rollback: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.refused = 0
        self._tell, self._clock, self._accept = tell, clock, accept_rollback
        self._failure: StoreError | None = None
        self._boot = boot
        self._witness_due = self._look_due = clock()
        self._often, self._unseen = wanted // 16, 0  # bytes after which to look at the disk; since it was
        self._is_witnessed = True
        self._path = directory / "store.sqlite"
        try:
            self._witness = Witness(directory / "witness", store, boot)
        except OSError as error:
            raise _broken(directory / "witness", error) from error
        try:
            # Half of the reserve for the log to be moved into the file, half for the log to grow.
            most = min(CHECKPOINT, max(SMALLEST, reserve_of(wanted) // 2)) if wanted else CHECKPOINT
            self._store = self.store_made(self._path, most)
        except BaseException:
            self._witness.close()
            raise
        try:
            self._room = self.room_made(directory, wanted, self._store.spare, tell)
        except OSError as error:
            self.close()
            raise _broken(directory / "reserve", error) from error

    # --- the store's law --------------------------------------------------------------------------------

    def load(self) -> Image:
        """Also StoreError STORE_ROLLED_BACK, unless that is accepted."""
        image = self._store.load()
        known = self._witness.known
        if known is None:
            if self.reach.commits:
                self._tell("warning", f"{self._witness.path} says nothing of the store; it is written anew")
        elif known.boot >= self._boot and not self._witness.is_ours:
            raise self._boot_rolled_back(known)
        elif known.commits > self.reach.commits or known.next_position - 1 > self.reach.log:
            if not self._accept:
                raise self._rolled_back(known)
            self._go_on_after(known)
        self._bear_witness()
        self._look_when_due()
        return image

    def commit(self, ops: Sequence[Op]) -> None:
        if self._failure is not None:
            raise self._failure
        grows = _growth(ops)
        self._look_when_due(grows)
        if grows and self._room.is_short:
            self.refused += 1
            raise StoreFull(
                f"There is too little room on the disk of {self._path}; nothing of this commit was written.",
                hint="Make room there (limits.disk_reserve_bytes says how much); the node goes on by itself.",
            )
        try:
            self._store.commit(ops)
        except StoreFull:
            self._room.give()
            if grows:
                raise
            self._store.checkpoint()  # then the log begins again at its start, and need not grow
            self._store.commit(ops)
        self._is_witnessed = False
        if self._store.is_cramped:
            self._room.give()
            self._store.checkpoint()

    def close(self) -> None:
        """A second time does no harm."""
        self._store.close()
        try:
            if not self._is_witnessed and self._failure is None:
                self._bear_witness()
        finally:
            self._witness.close()

    @property
    def reach(self) -> Reach:
        return self._store.reach

    # --- what may wait ----------------------------------------------------------------------------------

    def tend(self) -> float | None:
        """Do what need not be done within a commit. Returns the s after which it wants to be called again,
        though nothing was committed."""
        now = self._clock()
        if not self._is_witnessed and now >= self._witness_due and self._failure is None:
            self._bear_witness()
        if self._room.is_short:
            self._look_when_due()
        due = [self._witness_due] if not self._is_witnessed and self._failure is None else []
        due += [self._look_due] if self._room.is_short else []
        return max(0.0, min(due) - now) if due else None

    def status(self) -> dict[str, int]:
        """Metrics."""
        return {
            "disk_free": self._room.free,
            "disk_short": int(self._room.is_short),
            "disk_refused": self.refused,
        }

    def _look_when_due(self, size: int = 0) -> None:
        now = self._clock()
        self._unseen += size
        if now >= self._look_due or self._unseen > self._often:
            self._look_due, self._unseen = now + PERIOD, 0
            self._room.look()

    def _bear_witness(self) -> None:
        self._witness_due = self._clock() + PERIOD
        self._is_witnessed = True
        for is_last in (False, True):
            try:
                self._witness.write(self.reach.commits, self.reach.log + 1)
                return
            except OSError as error:
                if not is_full(error):
                    self._failure = _broken(self._witness.path, error)
                    raise self._failure from error
                self._room.give()
                self._is_witnessed = not is_last  # later, then

    # --- a store that went backwards --------------------------------------------------------------------

    def _rolled_back(self, known: Statement) -> StoreError:
        ours = self.reach
        return StoreError(
            f"{self._path} went backwards: it holds {ours.commits} commits and is at position "
            f"{ours.log + 1}, but had {known.commits} and was at {known.next_position} before "
            f"(in boot {known.boot}, says {self._witness.path}). A part of it was lost, or an old copy was "
            "put in its place.",
            hint="Put its newest copy back, or, to go on without what is lost: mesh up --accept-rollback",
            code=ROLLED_BACK,
        )

    def _boot_rolled_back(self, known: Statement) -> StoreError:
        return StoreError(
            f"{self._path.with_name('identity.json')} went backwards: this would be boot {self._boot}, but "
            f"there was a boot {known.boot} before, says {self._witness.path}. It is an old copy.",
            hint=f'Put its newest copy back, or write "boot": {known.boot} into it.',
            code=ROLLED_BACK,
        )

    def _go_on_after(self, known: Statement) -> None:
        """The next boot's positions are above all that were ever given, whatever the witness says of them."""
        lost_from, lost_to = self.reach.log + 1, known.next_position
        self._store.count_from(max(self.reach.commits, known.commits) + 1)
        self._bear_witness()  # in one slot; what stands in the other must not be believed again, either
        lost = f"positions {lost_from}..{lost_to - 1} are lost" if lost_to > lost_from else "commits are lost"
        self._tell("warning", f"the store went backwards, which was accepted: {lost}")


def _growth(ops: Sequence[Op]) -> int:
    """Bytes of messages that are new: in the log, and as last values, which many a message is only."""
    values = 0
    if any(isinstance(op, Put) and op.numbers is not None for op in ops):
        values = sum(len(op.value) for op in ops if isinstance(op, Put) and op.table == "retained")
    return values + sum(len(op.body) + len(op.header) for op in ops if isinstance(op, Append))


def _broken(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{path} failed: {error.strerror or error}.",
        hint="Look at that disk and its messages (dmesg), then restart the node.",
    )
