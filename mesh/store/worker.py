"""Commits and reads on a thread, so that the loop never waits for the disk."""

import logging
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Protocol

from mesh.errors import Closed, MeshTimeout, StoreError, StoreFull
from mesh.operations import Append, Drop, Op, Positions, Span, Stored
from mesh.store.base import Store
from mesh.store.refusals import Refusals
from mesh.store.room import broken

_log = logging.getLogger(__name__)
NO_COPY = "The node ended before the copy of its store was complete."
AGAIN = "Start the node, and make the backup again."

Done = Callable[[list[Hashable], StoreError | None], None]
Copy = Callable[[str, Callable[[], None]], None]
StoredFetched = Callable[[Hashable, list[Stored] | StoreError], None]


class Job(Protocol):
    """Operations that belong together, and the token for their result."""

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
    token: Hashable
    positions: Positions


@dataclass(frozen=True, slots=True)
class _Copy:
    path: Path
    done: Callable[[StoreError | None], None]


class Committer:
    """Commits jobs in order, in few commits. A job that does not fit on the disk even alone is skipped."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._refusals = Refusals()
        self._given_up: list[int] = []  # refused positions that the store must skip

    def settle(self, jobs: Sequence[Job]) -> Iterator[tuple[Sequence[Job], StoreError | None]]:
        """Commit the jobs. Yield groups of jobs with their error, or None, as soon as each is done."""
        error = self._commit(jobs)
        if isinstance(error, StoreFull) and len(jobs) > 1:
            # A job that is too large must not make the others fail.
            for job in jobs:
                yield from self.settle([job])
            return
        if isinstance(error, StoreFull):
            self._refusals.record(jobs[0].ops)
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
    """Commits on its own thread, in the order of `submit`. The worker owns the store.

    Jobs that are submitted during a commit become one commit together. There is no timer: a lone job never
    waits, and a busy disk makes larger commits. `done(tokens, error)` is called on the thread. With `None`
    the jobs are durable. With StoreFull none of them was written, and the store is usable. After any other
    StoreError the store must not be used, and the next load shows whether they were written.

    `fetched(token, found)` is called on the thread with the envelopes or the error. `copy(path, meanwhile)`
    copies the store into a new file, and calls `meanwhile` repeatedly; without it, copies are refused.
    `tend()` is called on the thread before each batch of requests, and again after the returned seconds; its
    first error is reported without jobs, and ends these calls. The thread starts with `start` or the first
    request. Until then the caller may read the store.
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
        self._copy: _Copy | None = None  # in progress, or next
        self._is_last = False  # nothing more will be submitted
        self._jobs: SimpleQueue[_Job | _Wish | _Copy | None] = SimpleQueue()  # None: the last entry
        self._committer = Committer(store)
        self._closing = False
        self._close_error: StoreError | None = None
        self._thread = Thread(target=self._run, name="mesh-store")

    def start(self) -> None:
        """Start the thread, even without a request. Idempotent."""
        if self._thread.ident is None:
            self._thread.start()

    def submit(self, token: Hashable, ops: Sequence[Op]) -> None:
        """Request a commit of the operations without blocking. Raises: Closed after `close`."""
        self._enqueue(_Job(token, tuple(ops)), "nothing was written")

    def fetch(self, token: Hashable, positions: Positions) -> None:
        """Request the envelopes at these positions without blocking. The read follows all earlier jobs.

        Reads that are pending at `close` may be skipped. Raises: Closed after `close`.
        """
        wanted = positions if isinstance(positions, Span) else tuple(positions)
        self._enqueue(_Wish(token, wanted), "nothing is read")

    def copy(self, path: Path, done: Callable[[StoreError | None], None]) -> None:
        """Request a copy of the store without blocking. Jobs do not wait for the copy.

        `done` is called on the thread, with `None` or the error: BUSY if another copy is being made, ENDED if
        the worker was closed first. Raises: Closed after `close`.
        """
        self._enqueue(_Copy(path, done), "nothing is copied", AGAIN)

    def _enqueue(self, job: _Job | _Wish | _Copy, in_vain: str, hint: str = "") -> None:
        if self._closing:
            raise Closed(f"The store is closed, because its node is stopping; {in_vain}.", hint=hint)
        self._jobs.put(job)
        self.start()

    def close(self, timeout: float) -> None:
        """Finish submitted jobs, then close the store. Idempotent.

        Raises: MeshTimeout if the disk needs longer than `timeout` seconds: the thread continues, and the
        process ends only after it. StoreError if closing failed.
        """
        if not self._closing:
            self._closing = True
            self._jobs.put(None)
            self.start()
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise MeshTimeout(
                f"The store has not finished within {timeout:g} s: its disk or database is slow or hangs.",
                hint="Unanswered changes may still be written.",
            )
        if self._close_error is not None:
            raise self._close_error

    def _run(self) -> None:
        while not self._is_last:
            self._work()
            if self._copy is not None and not self._is_last:
                self._make_copy(self._copy)
        if self._copy is not None:
            self._copy.done(StoreError(NO_COPY, hint=AGAIN, code="ENDED"))
        try:
            self._store.close()
        except Exception as error:
            self._close_error = _as_store_error(error)

    def _work(self) -> None:
        jobs, wishes = self._gather()
        for settled, error in self._committer.settle(jobs) if jobs else ():
            self._report_done(settled, error)
        for wish in wishes:
            self._read(wish)

    def _make_copy(self, it: _Copy) -> None:
        def meanwhile() -> None:
            if not self._jobs.empty():
                self._work()
            if self._is_last:
                raise StoreError(NO_COPY, hint=AGAIN, code="ENDED")

        error: StoreError | None = None
        try:
            assert self._store_copy is not None
            self._store_copy(str(it.path), meanwhile)
        except Exception as failure:
            error = _as_store_error(failure)
        self._copy = None
        it.done(error)

    def _take_copy(self, it: _Copy) -> None:
        if self._store_copy is None:
            it.done(StoreError("This store cannot be copied.", code="BUSY"))
        elif self._copy is not None:
            hint = "Wait until the other copy is complete, then try again."
            it.done(StoreError("A copy of this store is already being made.", hint=hint, code="BUSY"))
        else:
            self._copy = it

    def _gather(self) -> tuple[list[_Job], list[_Wish]]:
        """Wait for a request, and return all waiting jobs and reads. The reads are due after the jobs.

        A waiting copy is noted, and the end of all requests sets `_is_last`.
        """
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
            return  # no longer needed
        found: list[Stored] | StoreError
        try:
            found = self._store.read(wish.positions)
        except Exception as error:
            found = _as_store_error(error)
        try:
            self._fetched(wish.token, found)
        except Exception:
            _log.exception("Data that was read from the store was not processed.")

    def _next(self) -> _Job | _Wish | _Copy | None:
        while True:
            try:
                pause = self._tend()
            except Exception as error:
                self._tend = lambda: None
                self._report_done([], _as_store_error(error))
                continue
            try:
                return self._jobs.get(timeout=pause)
            except Empty:
                pass

    def _report_done(self, jobs: Sequence[Job], error: StoreError | None) -> None:
        try:
            self._done([job.token for job in jobs], error)
        except Exception:
            _log.exception("The store's answer to %d jobs was not processed.", len(jobs))


def _as_store_error(error: Exception) -> StoreError:
    if isinstance(error, StoreError):
        return error
    if isinstance(error, FileNotFoundError):
        return StoreError(
            f"{error.filename or 'The directory of the store'} was removed while its node ran.",
            hint="Restore it from a backup (`mesh backup restore`), or start the node without that data.",
        )
    if isinstance(error, OSError):
        unexpected = broken(error.filename or "The store", error)
    else:
        what = f"The store failed unexpectedly: {type(error).__name__}: {error}."
        unexpected = StoreError(what, hint="Restart the node, and report this.")
    unexpected.__cause__ = error
    return unexpected
