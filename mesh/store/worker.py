"""Who waits for the disk, so that the loop need not? One thread, which commits and reads."""

import logging
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Protocol

from mesh.errors import Closed, MeshTimeout, StoreError, StoreFull
from mesh.operations import Append, Drop, Op, Stored
from mesh.store.base import Store
from mesh.store.refusals import Refusals

_log = logging.getLogger(__name__)

Done = Callable[[list[Hashable], StoreError | None], None]
Copy = Callable[[str, Callable[[], None]], None]
StoredFetched = Callable[[Hashable, list[Stored] | StoreError], None]


class Job(Protocol):
    """Operations that belong together, and by what name to tell of them."""

    @property
    def token(self) -> Hashable: ...
    @property
    def ops(self) -> Sequence[Op]: ...


@dataclass(frozen=True, slots=True)
class _Job:
    token: Hashable
    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True)
class _Wish:
    """Envelopes to be read."""

    token: Hashable
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Copy:
    """A wish for a copy of the store; `done` hears when it is there, or why it is not."""

    path: Path
    done: Callable[[StoreError | None], None]


class Committer:
    """Jobs in order, as few commits as can be; what finds no room alone is passed over."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._refusals = Refusals()
        self._given_up: list[int] = []  # positions of refused appends, which the store must pass over

    def settle(self, jobs: Sequence[Job]) -> Iterator[tuple[Sequence[Job], StoreError | None]]:
        """Carry them out; tells what became of which, as it does so."""
        error = self._commit(jobs)
        if isinstance(error, StoreFull) and len(jobs) > 1:
            # One that is too large must not take the others with it.
            for job in jobs:
                yield from self.settle([job])
            return
        if isinstance(error, StoreFull):
            self._refusals.refuse(jobs[0].ops)
            self._given_up += [op.position for op in jobs[0].ops if isinstance(op, Append)]
        yield jobs, error

    def _commit(self, jobs: Sequence[Job]) -> StoreError | None:
        ops: list[Op] = [Drop(tuple(self._given_up))] if self._given_up else []
        for job in jobs:
            ops += self._refusals.amended(job.ops)
        try:
            self._store.commit(ops)
        except Exception as error:
            return _as_store_error(error)
        self._given_up.clear()
        return None


class StoreWorker:
    """Commits in a thread of its own, in the order of `submit`; owns the store from now on.

    What is submitted while a commit runs becomes one commit together: no timer, so a lone job never
    waits, and a busy disk makes larger commits. `done(tokens, error)` is called from that thread: with
    None these jobs are durable; with StoreFull nothing of them was written, and the store goes on; with
    any other StoreError the store is at its end, and whether they were written shows at the next load.
    `fetched(token, envelopes)` is called there, too, or with the error if they could not be read.
    `tend()` is called there whenever nothing waits to be done, and again after as many seconds as it
    says; what it raises is told as well, of no job.

    The thread begins with `start`, or with the first thing that is asked of it: until then the store is
    still the caller's, who may read it.
    """

    def __init__(
        self,
        store: Store,
        done: Done,
        tend: Callable[[], float | None] = lambda: None,
        fetched: StoredFetched = lambda token, found: None,
        copy: Copy | None = None,
    ) -> None:
        self._store = store
        self._done, self._fetched = done, fetched
        self._tend = tend
        self._store_copy = copy
        self._copy: _Copy | None = None  # under way, or the next thing to be done
        self._is_last = False  # no more will come
        self._jobs: SimpleQueue[_Job | _Wish | _Copy | None] = SimpleQueue()  # None: no more will come
        self._committer = Committer(store)
        self._closing = False
        self._close_error: StoreError | None = None
        self._thread = Thread(target=self._run, name="mesh-store")

    def start(self) -> None:
        """Begin, with the store's own work if nothing else; a second time does no harm."""
        if self._thread.ident is None:
            self._thread.start()

    def submit(self, token: Hashable, ops: Sequence[Op]) -> None:
        """Have the operations committed; never blocks. Closed after `close`."""
        self._ask(_Job(token, tuple(ops)), "nothing was written")

    def fetch(self, token: Hashable, positions: Collection[int]) -> None:
        """Have the envelopes at these positions read, as they stand after all that was submitted before;
        never blocks. Closed after `close`, before which what was not read yet need not be any more."""
        self._ask(_Wish(token, tuple(positions)), "nothing is read")

    def copy(self, path: Path, done: Callable[[StoreError | None], None]) -> None:
        """Have the store copied into a new file; never blocks, and what is submitted meanwhile does not wait
        for it. `done` is called in the thread. One at a time."""
        self._ask(_Copy(path, done), "nothing is copied")

    def _ask(self, job: _Job | _Wish | _Copy, in_vain: str) -> None:
        if self._closing:
            raise Closed(f"The store's worker is closed; {in_vain}.")
        self._jobs.put(job)
        self.start()

    def close(self, timeout: float) -> None:
        """Finish what was submitted, then close the store; a second time does no harm.

        MeshTimeout when the disk needs longer than `timeout` seconds: the thread goes on, and the
        process ends only after it. StoreError when the store could not be closed.
        """
        if not self._closing:
            self._closing = True
            self._jobs.put(None)
            self.start()
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise MeshTimeout(
                f"The store has not finished within {timeout:g} s: the disk is slow or hangs.",
                hint="What was not answered yet may still be written.",
            )
        if self._close_error is not None:
            raise self._close_error

    def _run(self) -> None:
        while not self._is_last:
            self._work()
            if self._copy is not None and not self._is_last:
                self._make_copy(self._copy)
        if self._copy is not None:
            self._copy.done(StoreError("the node has ended before its copy was there.", code="ENDED"))
        try:
            self._store.close()
        except Exception as error:
            self._close_error = _as_store_error(error)

    def _work(self) -> None:
        """Do all that waits, and if nothing does wait for it."""
        jobs, wishes = self._gather()
        for settled, error in self._committer.settle(jobs) if jobs else ():
            self._tell(settled, error)
        for wish in wishes:
            self._read(wish)

    def _make_copy(self, it: _Copy) -> None:
        """Copy the store, and let what comes meanwhile have its turn."""

        def meanwhile() -> None:
            if not self._jobs.empty():
                self._work()
            if self._is_last:
                raise StoreError("the node has ended before its copy was there.", code="ENDED")

        error: StoreError | None = None
        try:
            assert self._store_copy is not None
            self._store_copy(str(it.path), meanwhile)
        except Exception as failure:
            error = _as_store_error(failure)
        self._copy = None
        it.done(error)

    def _take_copy(self, it: _Copy) -> None:
        if self._copy is not None or self._store_copy is None:
            it.done(StoreError("a copy of this store is being made already.", code="BUSY"))
        else:
            self._copy = it

    def _gather(self) -> tuple[list[_Job], list[_Wish]]:
        """All that waits, at least one: what is to be written, what is to be read behind that."""
        jobs: list[_Job] = []
        wishes: list[_Wish] = []
        job = self._next()
        while job is not None:
            if isinstance(job, _Job):
                jobs.append(job)
            elif isinstance(job, _Wish):
                wishes.append(job)
            else:
                self._take_copy(job)
            if self._jobs.empty():
                return jobs, wishes
            job = self._jobs.get()
        self._is_last = True
        return jobs, wishes

    def _read(self, wish: _Wish) -> None:
        if self._closing:
            return  # nobody needs it any more
        found: list[Stored] | StoreError
        try:
            found = self._store.read(wish.positions)
        except Exception as error:
            found = _as_store_error(error)
        try:
            self._fetched(wish.token, found)
        except Exception:
            _log.exception("What was read from the store was not taken.")

    def _next(self) -> _Job | _Wish | _Copy | None:
        while True:
            try:
                pause = self._tend()
            except Exception as error:
                self._tend = lambda: None
                self._tell([], _as_store_error(error))
                continue
            try:
                return self._jobs.get(timeout=pause)
            except Empty:
                pass

    def _tell(self, jobs: Sequence[Job], error: StoreError | None) -> None:
        try:
            self._done([job.token for job in jobs], error)
        except Exception:
            _log.exception("The store's answer to %d jobs was not taken.", len(jobs))


def _as_store_error(error: Exception) -> StoreError:
    if isinstance(error, StoreError):
        return error
    if isinstance(error, FileNotFoundError):
        return StoreError(
            f"{error.filename or 'The directory of the store'} is gone: it was removed while its node ran.",
            hint="Take it back from a backup (mesh backup restore), or start the node without what it had.",
        )
    unexpected = StoreError(
        f"The store failed in an unexpected way: {type(error).__name__}: {error}.",
        hint="Restart the node, and report this.",
    )
    unexpected.__cause__ = error
    return unexpected
