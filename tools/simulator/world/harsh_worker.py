"""The store worker on a failing machine: slow, or crashing at any point of a commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Protocol

from mesh.kernel.context.effects import Commit, Fetch
from mesh.store.witnessed import Witnessed
from tools.simulator.history import History
from tools.simulator.world.crashes import MovesWritten, awaited
from tools.simulator.world.disk import SimStore
from tools.simulator.world.network import LATE
from tools.simulator.world.worker import Outcome, Process, Worker


class HarshProcess(Process, Protocol):
    """A process on a failing machine.

    `armed` has the crash point, the downtime in s, and the stage of a move that the commit must write; ""
    means any commit that is awaited.
    """

    history: History
    armed: tuple[str, float, str] | None
    moves_written: MovesWritten
    latency: tuple[float, float] | None
    is_failing: bool
    is_closing: bool

    @property
    def store(self) -> SimStore: ...

    @property
    def guard(self) -> Witnessed: ...

    def when(self, moment: float) -> float: ...

    def awake(self, what: Callable[[], None]) -> None: ...

    def start(self) -> None: ...

    def kill(self) -> None: ...

    def disk_failed(self) -> None: ...


class HarshWorker(Worker):
    """A worker whose writes are cached immediately, and durable when they are synced."""

    process: HarshProcess

    def __init__(self, process: HarshProcess) -> None:
        super().__init__(process, process.guard)
        self._outcome: Outcome = []
        self._stages: set[str] = set()  # stages of moves in the batch
        self._tended = inf  # time of the store's next maintenance

    def write_next(self) -> None:
        process = self.process
        is_at_its_end = process.is_failing and process.is_closing
        if not self.jobs or self.batch or not process.is_up or is_at_its_end:
            return
        self.batch = list(self.jobs)
        self.jobs.clear()
        self._stages = process.moves_written.of(self.batch)
        if self._crashes("before the commit"):
            return
        self._outcome = self.write(self.batch)
        low, high = process.latency or process.net.disk
        process.net.after(process.rng.uniform(low, high), self.written)

    def written(self) -> None:
        self.process.awake(super().written)

    def finish(self) -> None:
        if not self._outcome:  # a clean stop writes the rest, too
            self.batch += self.jobs
            self.jobs.clear()
            self._outcome = self.write(self.batch)
        if self._crashes("in the commit"):
            return
        if self.process.is_failing:
            self.process.disk_failed()
            return
        self.process.store.sync()
        if self._crashes("after the commit"):
            return
        outcome, self._outcome, batch, self.batch = self._outcome, [], self.batch, []
        self.answer(outcome, batch)
        if not self._crashes("after the answer", batch):
            self.tend()
            self.write_next()

    def close(self) -> None:
        self.write(list(self.jobs))  # the batch is in the cache
        self.process.store.sync()

    def kill(self) -> None:
        self.batch, self._outcome = [], []  # the store knows what is in its cache

    def forget(self) -> None:
        self.batch.clear()
        self.jobs.clear()

    def tend(self) -> None:
        """Do the store's maintenance, and schedule the next one."""
        process = self.process
        if not self.is_at_work or self.batch or process.is_closing:
            return
        pause = process.guard.tend()
        if pause is not None and process.now + pause < self._tended:
            self._tended = process.now + pause
            process.net.at(process.when(self._tended) + LATE, self._tend_again)

    def _tend_again(self) -> None:
        if self in self.process.workers:
            self._tended = inf
            self.process.awake(self.tend)

    def _crashes(self, point: str, batch: Sequence[Commit | Fetch] = ()) -> bool:
        """Crash if this is the armed point and the written commits are awaited; return whether it crashed."""
        process = self.process
        is_awaited = any(map(awaited, batch or self.batch))
        if process.armed is None or process.armed[0] != point or not is_awaited or process.is_closing:
            return False
        _, seconds, stage = process.armed
        if stage and stage not in self._stages:
            return False
        process.armed = None
        process.history.met(f"crash {point}")
        for each in sorted(self._stages):
            process.history.met(f"crash {point}: a move {each}")
        process.kill()
        process.net.after(seconds, process.start)
        return True
