"""The worker that writes for a simulated node, like the worker of a real store but without a thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from random import Random
from typing import Any, Protocol

from mesh.errors import StoreFull
from mesh.kernel.context.effects import Commit, Fetch
from mesh.kernel.node import NodeCore
from mesh.store.base import Store
from mesh.store.worker import Committer
from tools.simulator.world.network import Network

Outcome = list[tuple[Commit, StoreFull | None]]


class Process(Protocol):
    """A node's process as the worker of its store uses it."""

    core: NodeCore
    rng: Random
    is_up: bool

    @property
    def net(self) -> Network[Any]: ...

    @property
    def workers(self) -> Collection[Worker]: ...

    @property
    def now(self) -> float: ...

    @property
    def wall(self) -> int: ...

    def _carry_out_all(self) -> None: ...


class Worker:
    """The worker of one process.

    While a batch is written, jobs gather for the next one.
    """

    def __init__(self, process: Process, store: Store, name: str = "") -> None:
        self.process, self.name = process, name
        self.batch: list[Commit | Fetch] = []  # jobs in progress: commits, then fetches
        self.jobs: deque[Commit | Fetch] = deque()
        self._store = store
        self._committer = Committer(store)

    def take(self, job: Commit | Fetch) -> None:
        self.jobs.append(job)
        self.write_next()

    def write_next(self) -> None:
        if self.jobs and not self.batch:
            self.batch, self.jobs = list(self.jobs), deque()
            self.process.net.after(self.process.rng.uniform(*self.process.net.disk), self.written)

    @property
    def is_at_work(self) -> bool:
        """Whether the process of this worker still runs."""
        return self.process.is_up and self in self.process.workers

    def written(self) -> None:
        if self.is_at_work and self.batch:
            self.finish()

    def finish(self) -> None:
        """Finish the batch, and start the next one with the gathered jobs."""
        batch, self.batch = self.batch, []
        self.answer(self.write(batch), batch)
        self.write_next()

    def answer(self, outcome: Outcome, batch: Sequence[Commit | Fetch]) -> None:
        """Report to the core the outcome of its commits, and the envelopes that it fetched."""
        process = self.process
        for job, error in outcome:
            if job.token is not None:
                process.core.stored(job.token, error, process.now, process.wall, self.name)
        for wish in batch:
            if isinstance(wish, Fetch):
                found = self._store.read(wish.positions)
                process.core.fetched(wish.token, found, process.now, process.wall, self.name)
        process._carry_out_all()

    def write(self, jobs: Sequence[Commit | Fetch]) -> Outcome:
        outcome: Outcome = []
        commits = [job for job in jobs if isinstance(job, Commit)]
        for settled, error in self._committer.settle(commits) if commits else ():
            if error is not None and not isinstance(error, StoreFull):
                raise error
            outcome += [(job, error) for job in settled if isinstance(job, Commit)]
        return outcome

    def drain(self) -> None:
        while self.batch or self.jobs:
            self.finish()

    def close(self) -> None:
        """Write the remaining jobs after a clean stop, without reporting their outcome."""
        self.write([*self.batch, *self.jobs])

    def kill(self) -> None:
        """Write the current batch or lose it, at random, and lose the gathered jobs."""
        if self.batch and self.process.rng.random() < 0.5:
            self.write(self.batch)
