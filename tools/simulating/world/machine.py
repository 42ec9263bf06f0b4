"""A node on a machine that can do it harm: its clock drifts, its disk fails, it is stopped and goes on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import inf
from typing import Any

from mesh.core.desk.effects import Commit
from mesh.errors import StoreError, StoreFull
from mesh.store.base import Store
from mesh.store.witnessed import ROLLED_BACK, Witnessed
from tools.simulating.history import Event, History
from tools.simulating.world.crashes import awaited
from tools.simulating.world.disk import SimStore
from tools.simulating.world.filed import FiledStore
from tools.simulating.world.guarded import Place
from tools.simulating.world.liar import Liar
from tools.simulating.world.network import LATE as LATE_TIMER
from tools.simulating.world.network import Pipe
from tools.simulating.world.node import Disk, SimNode
from tools.simulating.world.observer import Observer
from tools.simulating.world.weather import HarshNetwork

LATE = 0.25  # s: a loop that is later than that judges nobody before it has read what came meanwhile
UNWITNESSED = 5.0  # s: of what was committed so shortly before its end, a process may not have borne witness


class HarshNode(SimNode):
    """`armed`: where it crashes next, and how long it is down then."""

    net: HarshNetwork

    def __init__(
        self, net: HarshNetwork, name: str, seeds: tuple[str, ...], settings: dict[str, Any], history: History
    ) -> None:
        self.history = history
        self.label = name  # in the history
        self.drift = 0.0  # parts of a second that its clock gains in each
        self.latency: tuple[float, float] | None = None
        self.armed: tuple[str, float] | None = None
        self.liar: Liar | None = None  # speaks for it to other nodes
        self.is_failing = self.is_dark = self.is_refused = False
        self._stopped_until = 0.0
        self._stalled: list[Callable[[], None]] = []
        self._tick_waits = False
        self._outcome: list[tuple[Commit, StoreFull | None]] = []
        super().__init__(net, name, seeds, settings)
        self.observer = Observer(self, history)
        self.disk = Disk(self._store())
        self._place = Place(net.files / f"{self.uuid.hex()}", self.disk, lambda: self.net.now)

    def _store(self) -> SimStore:
        if not self.net.is_filed:
            return SimStore(self.observer.durable, lambda: self.net.now)
        return FiledStore(
            self.observer.durable, lambda: self.net.now, self.net.files / f"{self.uuid.hex()}.sqlite"
        )

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
            self._place.open(self.uuid, self.store)
        except StoreError as error:
            self._place.let_go()
            self.is_refused = True
            self.history.met("step back refused" if error.code == ROLLED_BACK else "data loss refused")
            self.tell("refused", error.code)
            return
        self.disk.boot = self._place.boot - 1  # and this is the next
        self.is_refused = self.is_failing = False
        self._outcome, self._stalled, self._tick_waits = [], [], False
        self._tended = inf  # when the store wants to be looked after
        self._stopped_until = 0.0
        super().start()
        self._tend(self._life)
        self.observer.values()
        for pipe in [p for p in self.net.pipes if p.is_open and self in p.ends]:
            self.net.after(self.rng.uniform(0.2, 3.0) if was_dark else 0.0, pipe.heal)

    @property
    def guard(self) -> Witnessed:
        """What stands between its process and its store."""
        return self._place.guard

    def _taken(self) -> Store:
        return self.guard

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
            self._place.let_go()

    def power_off(self) -> None:
        """As kill -9, and nothing tells the others."""
        if self.is_up:
            self.is_dark = True
            self.observer.leaves("crash")
            self._stalled.clear()
            self.is_up = False
            del self.net.bound[self.address], self.net.bound[self.ipc]
            self.store.crash(self.rng)
            self._place.let_go()
            self._outcome = []

    def close(self) -> None:
        if not self.is_up:
            return
        if self.is_stopped:
            self.kill()
            return
        if self.stop is not None and self.stop.code == "NAME_IN_USE":
            self.history.met("name conflict")
        if self.stop is not None:
            self.tell("stopped", self.stop.code)
        self.observer.leaves("stop")
        self._is_closing = True
        while self._batch or self._jobs:
            self._finish()
        if not self.is_up:
            return  # its disk has failed
        self.core.goodbye(self.now, self.wall)
        self._carry_out_all()
        self._write(list(self._jobs))  # the batch is in the cache
        self.store.sync()
        self._place.close()
        self._leave()

    def _leave(self) -> None:
        self.is_up = False
        del self.net.bound[self.address], self.net.bound[self.ipc]
        for pipe in self.net.pipes:
            if self in pipe.ends and pipe.is_open:
                pipe.end(self)

    def put_back(self) -> bool:
        """An old copy stands in the place of its store, which lacks what its witness knows of."""
        return not self.is_up and self.store.put_back(self._place.ended - UNWITNESSED)

    def let_go(self) -> None:
        """The story is over."""
        self._place.let_go()
        self.store.close()

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
        due = self._alarm  # which is set anew by what is read
        self._read_on()
        self._tick_on(due)

    def _read_on(self) -> None:
        stalled, self._stalled = self._stalled, []
        for what in stalled:
            what()

    def _tick_on(self, due: float) -> None:
        if self.is_up and self._tick_waits:
            self._tick_waits = False
            self._alarm = min(self._alarm, self.now)
            late = self.now - due
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

    def _send(self, key: Hashable, frames: list[bytes]) -> None:
        pipe = self._dialled.get(key) or self.came_in.get(key)
        is_to_node = pipe is not None and all(isinstance(end, SimNode) for end in pipe.ends)
        for each in self.liar.said(frames) if self.liar is not None and is_to_node else [frames]:
            super()._send(key, each)

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
            self._tend(self._life)
            self._write_next()

    def _tend(self, life: int) -> None:
        """What its worker does when it looks for more to do."""
        if not self.is_up or life != self._life or self._batch or self._is_closing:
            return
        pause = self.guard.tend()
        if pause is not None and self.now + pause < self._tended:
            self._tended = self.now + pause
            self.net.at(self.when(self._tended) + LATE_TIMER, lambda: self._tend_again(life))

    def _tend_again(self, life: int) -> None:
        if life == self._life:
            self._tended = inf
            self._awake(lambda: self._tend(life))

    def _crashes(self, point: str, batch: Sequence[Commit] = ()) -> bool:
        """Is this where it was to crash? Then it does, if somebody waits for what is written."""
        is_awaited = any(map(awaited, batch or self._batch))
        if self.armed is None or self.armed[0] != point or not is_awaited or self._is_closing:
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
        self._place.let_go()
        self._batch.clear()
        self._jobs.clear()
        self._is_closing = True
        self._carry_out_all()
        self.core.goodbye(self.now, self.wall)
        self._carry_out_all()
        self._jobs.clear()
        self._leave()
        self.net.after(self.rng.uniform(0.5, 5.0), self.start)
