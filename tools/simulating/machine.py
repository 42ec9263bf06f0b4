"""A node on a machine that can do it harm: its clock drifts, its disk fails, it is stopped and goes on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from mesh.core.effects import Commit
from mesh.errors import StoreError, StoreFull
from mesh.store.base import Append
from tools.simulating.disk import SimStore
from tools.simulating.filed import FiledStore
from tools.simulating.history import Event, History
from tools.simulating.network import Pipe
from tools.simulating.node import Disk, SimNode
from tools.simulating.observer import Observer
from tools.simulating.weather import HarshNetwork

LATE = 0.25  # s: a loop that is later than that judges nobody before it has read what came meanwhile
POINTS = ("before the commit", "in the commit", "after the commit", "after the answer")


class HarshNode(SimNode):
    """`armed`: where it crashes next, and how long it is down then."""

    net: HarshNetwork

    def __init__(self, net: HarshNetwork, name: str, seeds: tuple[str, ...], settings: dict[str, Any],
                 history: History) -> None:  # fmt: skip
        self.history = history
        self.label = name  # in the history
        self.drift = 0.0  # parts of a second that its clock gains in each
        self.latency: tuple[float, float] | None = None
        self.armed: tuple[str, float] | None = None
        self.is_failing = self.is_dark = self.is_refused = False
        self._stopped_until = 0.0
        self._stalled: list[Callable[[], None]] = []
        self._tick_waits = False
        self._outcome: list[tuple[Commit, StoreFull | None]] = []
        super().__init__(net, name, seeds, settings)
        self.observer = Observer(self, history)
        self.disk = Disk(self._store())

    def _store(self) -> SimStore:
        if self.net.files is None:
            return SimStore(self.observer.durable)
        return FiledStore(self.observer.durable, self.net.files / f"{self.uuid.hex()}.sqlite")

    @property
    def store(self) -> SimStore:
        assert isinstance(self.disk.store, SimStore)
        return self.disk.store

    # --- its clock ----------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        return self.net.now * (1 + self.drift)

    @property
    def wall(self) -> int:
        return super().wall + int(self.net.now * self.drift * 1e9)

    def when(self, moment: float) -> float:
        return moment / (1 + self.drift)

    # --- its life -----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Unless it is up, or its store says that it is damaged."""
        if self.is_up:
            return
        was_dark, self.is_dark = self.is_dark, False
        try:
            self.store.load()
        except StoreError as error:
            self.is_refused = True
            self.history.met("data loss refused")
            self.tell("refused", error.code)
            return
        self.is_refused = self.is_failing = False
        self._outcome, self._stalled, self._tick_waits = [], [], False
        self._stopped_until = 0.0
        super().start()
        self.observer.values()
        for pipe in [p for p in self.net.pipes if p.is_open and self in p.ends]:
            self.net.after(self.rng.uniform(0.2, 3.0) if was_dark else 0.0, pipe.heal)

    def made(self) -> None:
        self.tell("start")
        self.observer.watch()

    def kill(self) -> None:
        if self.is_up:
            self.observer.leaves("crash")
            self._stalled.clear()
            self._batch, self._outcome = [], []  # what is in the cache, the store knows
            super().kill()
            self.store.crash(self.rng)

    def power_off(self) -> None:
        """As kill -9, and nothing tells the others."""
        if self.is_up:
            self.is_dark = True
            self.observer.leaves("crash")
            self._stalled.clear()
            self.is_up = False
            del self.net.bound[self.address], self.net.bound[self.ipc]
            self.store.crash(self.rng)
            self._outcome = []

    def close(self) -> None:
        if not self.is_up:
            return
        if self.is_stopped:
            self.kill()
            return
        if self.stop is not None and self.stop.code == "NAME_IN_USE":
            self.history.met("name conflict")
        self.observer.leaves("stop")
        self._is_closing = True
        while self._batch or self._jobs:
            self._finish()
        if not self.is_up:
            return  # its disk has failed
        self.core.goodbye(self.now, self.wall)
        self._carry_out_all()
        self._write(self._jobs)  # the batch is in the cache
        self.store.sync()
        self._leave()

    def _leave(self) -> None:
        self.is_up = False
        del self.net.bound[self.address], self.net.bound[self.ipc]
        for pipe in self.net.pipes:
            if self in pipe.ends and pipe.is_open:
                pipe.end(self)

    def tell(self, kind: str, text: str = "") -> None:
        self.history.add(Event(self.net.now, kind, self.label, self.disk.boot, text=text))

    # --- stopped for a while --------------------------------------------------------------------------------

    @property
    def is_stopped(self) -> bool:
        return self.net.now < self._stopped_until

    def pause(self, seconds: float) -> None:
        """SIGSTOP, and SIGCONT so much later."""
        if self.is_up and not self.is_stopped:
            self._stopped_until = self.net.now + seconds
            boot = self.disk.boot
            self.net.at(self._stopped_until, lambda: self.go_on(boot))

    def go_on(self, boot: int) -> None:
        """What came meanwhile is read before anybody is judged."""
        if not self.is_up or boot != self.disk.boot:
            return
        self._stopped_until = 0.0
        self.history.met("went on after a stop")
        self._read_on()
        self._tick_on()

    def _read_on(self) -> None:
        stalled, self._stalled = self._stalled, []
        for what in stalled:
            what()

    def _tick_on(self) -> None:
        if self.is_up and self._tick_waits:
            self._tick_waits = False
            late = self.now - self._alarm
            if late > LATE:
                self.core.lagged(late)
            super()._tick(self._life)

    def _awake(self, what: Callable[[], None]) -> None:
        if self.is_stopped:
            self._stalled.append(what)
        else:
            what()

    def heard_on(self, pipe: Pipe, frames: list[bytes]) -> None:
        self._awake(lambda: SimNode.heard_on(self, pipe, frames))

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        self._awake(lambda: SimNode.hear(self, key, frames))

    def gone(self, key: Hashable) -> None:
        self._awake(lambda: SimNode.gone(self, key))

    def gossiped(self, frames: list[bytes]) -> None:
        self._awake(lambda: SimNode.gossiped(self, frames))

    def knocked(self, life: int, uuid: bytes, is_refused: bool) -> None:
        self._awake(lambda: SimNode.knocked(self, life, uuid, is_refused))

    def advertised(self, node: Any) -> None:
        """Multicast DNS tells it of a node."""

        def hears() -> None:
            if self.is_up:
                self.core.advertised(node, self.now, self.wall)
                self._carry_out_all()

        if self.is_up:
            self._awake(hears)

    def _tick(self, life: int) -> None:
        if self.is_stopped and life == self._life and self.is_up:
            self._tick_waits = True
        else:
            super()._tick(life)

    # --- its disk -------------------------------------------------------------------------------------------

    def _write_next(self) -> None:
        if not self._jobs or self._batch or not self.is_up or (self.is_failing and self._is_closing):
            return
        self._batch = list(self._jobs)
        self._jobs.clear()
        life = self._life
        if self._crashes("before the commit"):
            return
        self._outcome = self._write(self._batch)
        low, high = self.latency or self.net.disk
        self.net.after(self.rng.uniform(low, high), lambda: self._written(life))

    def _written(self, life: int) -> None:
        self._awake(lambda: SimNode._written(self, life))

    def _finish(self) -> None:
        if not self._outcome:  # of a clean stop: what waits is written as well
            self._batch += self._jobs
            self._jobs.clear()
            self._outcome = self._write(self._batch)
        if self._crashes("in the commit"):
            return
        if self.is_failing:
            self._give_up()
            return
        self.store.sync()
        if self._crashes("after the commit"):
            return
        outcome, self._outcome, batch, self._batch = self._outcome, [], self._batch, []
        for job, error in outcome:
            if job.token is not None:
                self.core.stored(job.token, error, self.now, self.wall)
        self._carry_out_all()
        if not self._crashes("after the answer", batch):
            self._write_next()

    def _crashes(self, point: str, batch: Sequence[Commit] = ()) -> bool:
        """Is this where it was to crash? Commits of messages are the ones that matter."""
        is_message = any(isinstance(op, Append) for job in batch or self._batch for op in job.ops)
        if self.armed is None or self.armed[0] != point or not is_message or self._is_closing:
            return False
        (_, seconds), self.armed = self.armed, None
        self.history.met(f"crash {point}")
        self.kill()
        self.net.after(seconds, self.start)
        return True

    def _give_up(self) -> None:
        """The disk has failed: whether this was written shows at the next start, and nothing else is."""
        self.history.met("stopped by its disk")
        self.observer.leaves("stop", "disk")
        self.store.crash(self.rng)
        self._batch.clear()
        self._jobs.clear()
        self._is_closing = True
        self._carry_out_all()
        self.core.goodbye(self.now, self.wall)
        self._carry_out_all()
        self._jobs.clear()
        self._leave()
        self.net.after(self.rng.uniform(0.5, 5.0), self.start)
