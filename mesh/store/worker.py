"""Who waits for the disk, so that the loop need not? One thread, which commits what has gathered."""

import logging
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Protocol

from mesh.errors import Closed, MeshTimeout, StoreError, StoreFull
from mesh.operations import Append, Drop, Op
from mesh.store.base import Store
from mesh.store.refusals import Refusals

_log = logging.getLogger(__name__)

Done = Callable[[list[Hashable], StoreError | None], None]


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
    `tend()` is called there whenever nothing waits to be committed, and again after as many seconds as it
    says; what it raises is told as well, of no job.
    """

    def __init__(self, store: Store, done: Done, tend: Callable[[], float | None] = lambda: None) -> None:
        self._store = store
        self._done = done
        self._tend = tend
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()  # None: no more will come
        self._committer = Committer(store)
        self._closing = False
        self._close_error: StoreError | None = None
        self._thread = Thread(target=self._run, name="mesh-store")
        self._thread.start()

    def submit(self, token: Hashable, ops: Sequence[Op]) -> None:
        """Have the operations committed; never blocks. Closed after `close`."""
        if self._closing:
            raise Closed("The store's worker is closed; nothing was written.")
        self._jobs.put(_Job(token, tuple(ops)))

    def close(self, timeout: float) -> None:
        """Finish what was submitted, then close the store; a second time does no harm.

        MeshTimeout when the disk needs longer than `timeout` seconds: the thread goes on, and the
        process ends only after it. StoreError when the store could not be closed.
        """
        if not self._closing:
            self._closing = True
            self._jobs.put(None)
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise MeshTimeout(
                f"The store has not finished within {timeout:g} s: the disk is slow or hangs.",
                hint="What was not answered yet may still be written.",
            )
        if self._close_error is not None:
            raise self._close_error

    def _run(self) -> None:
        closing = False
        while not closing:
            jobs, closing = self._gather()
            for settled, error in self._committer.settle(jobs) if jobs else ():
                self._tell(settled, error)
        try:
            self._store.close()
        except Exception as error:
            self._close_error = _as_store_error(error)

    def _gather(self) -> tuple[list[_Job], bool]:
        """All jobs that wait, at least one; and whether they are the last."""
        jobs = []
        job = self._next()
        while job is not None:
            jobs.append(job)
            if self._jobs.empty():
                return jobs, False
            job = self._jobs.get()
        return jobs, True

    def _next(self) -> _Job | None:
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
    unexpected = StoreError(
        f"The store failed in an unexpected way: {type(error).__name__}: {error}.",
        hint="Restart the node, and report this.",
    )
    unexpected.__cause__ = error
    return unexpected
