"""How does a store's worker fare on a machine that fails? Slowly, or not at all: it may end at any point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Protocol

from mesh.core.desk.effects import Commit, Fetch
from mesh.store.witnessed import Witnessed
from tools.simulating.history import History
from tools.simulating.world.crashes import MovesWritten, awaited
from tools.simulating.world.disk import SimStore
from tools.simulating.world.network import LATE
from tools.simulating.world.worker import Outcome, Process, Worker


class HarshProcess(Process, Protocol):
    """A process on such a machine. `armed`: where it crashes next, how long it is down then, and which stage
    of a move is to be written there; "": whatever somebody waits for."""

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
    """A worker whose writes are in the cache at once, and on the disk when they are synced."""

    process: HarshProcess

    def __init__(self, process: HarshProcess) -> None:
        super().__init__(process, process.guard)
        self._outcome: Outcome = []
        self._stages: set[str] = set()  # of moves, that the batch writes
        self._tended = inf  # when the store wants to be looked after

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
        if not self._outcome:  # of a clean stop: what waits is written as well
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
        self.batch, self._outcome = [], []  # what is in the cache, the store knows

    def forget(self) -> None:
        """Nothing more is written."""
        self.batch.clear()
        self.jobs.clear()

    def tend(self) -> None:
        """Look for more to do, and set the time of the next look."""
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
        """Is this where it was to crash? Then it does, if somebody waits for what is written."""
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
