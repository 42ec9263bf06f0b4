"""A node on a failing machine: its clock drifts, its disk fails, its process is paused."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from mesh.errors import StoreError
from mesh.kernel.context.effects import Effect, HangUp
from mesh.kernel.feature import Feature
from mesh.kernel.parts import Parts
from mesh.store.memory import MemoryStore
from mesh.store.witnessed import ROLLED_BACK, Witnessed
from tools.simulator.history import Event, History
from tools.simulator.world.crashes import MovesWritten
from tools.simulator.world.disk import SimStore
from tools.simulator.world.entrance import Entrance
from tools.simulator.world.filed import FiledStore
from tools.simulator.world.guarded import Place
from tools.simulator.world.harsh_worker import HarshWorker
from tools.simulator.world.liar import Liar
from tools.simulator.world.network import Pipe
from tools.simulator.world.node import SimNode
from tools.simulator.world.observer import Observer
from tools.simulator.world.stoppable import StoppableNode
from tools.simulator.world.volume import Disk
from tools.simulator.world.weather import HarshNetwork
from tools.simulator.world.worker import Worker

UNWITNESSED = 5.0  # s that a witness may lack


class AwakeWorker(Worker):
    """The worker of a store in memory or at a server, which pauses with its process.

    The content at a server survives all faults of the node.
    """

    process: HarshNode

    def written(self) -> None:
        self.process.awake(super().written)


class HarshNode(StoppableNode):
    """A node on a failing machine, across all of its processes."""

    net: HarshNetwork
    worker: HarshWorker

    def __init__(
        self, net: HarshNetwork, name: str, seeds: tuple[str, ...], settings: dict[str, Any], history: History
    ) -> None:
        self.history = history
        self.label = name  # in the history
        self.drift = 0.0  # s that its clock gains per second
        self.latency: tuple[float, float] | None = None
        self.armed: tuple[str, float, str] | None = None  # as in HarshProcess
        self.moves_written = MovesWritten()
        self.liar: Liar | None = None  # replaces its output to other nodes
        self.entrance: Entrance | None = None  # where connections have descriptors
        self.is_failing = self.is_dark = self.is_refused = False
        self.accepts = False  # whether its next start accepts a rollback
        self.is_silent_of: frozenset[str] = settings.pop("is_silent_of", frozenset())  # lacking features
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
        """Start a process, unless one is up, or the store is damaged or an old copy that is not accepted."""
        if self.is_up:
            return
        was_dark, self.is_dark = self.is_dark, False
        accepts, self.accepts = self.accepts and self.store.is_old, False
        try:
            self._place.open(self.uuid, self.store, accepts)
        except StoreError as error:
            self._place.let_go()
            self.is_refused = True
            self.history.met("step back refused" if error.code == ROLLED_BACK else "data loss refused")
            self.tell("refused", error.code)
            return
        self.disk.boot = self._place.boot - 1  # the next boot is the current one
        self.is_refused = self.is_failing = False
        self._settings["accept_rollback"] = accepts
        if accepts:
            self.store.is_accepted = True
            self.tell("went back")
        lost = self._settings.get("volatile", ())
        self.others = {
            store: Disk(MemoryStore()) if store in lost else disk for store, disk in self.others.items()
        }
        self.entrance = Entrance(self.net, self, self.rng) if self.net.has_descriptors else None
        super().start()
        self.worker.tend()
        self.observer.values()
        for pipe in [p for p in self.net.pipes if p.is_open and self in p.ends]:
            self.net.after(self.rng.uniform(0.2, 3.0) if was_dark else 0.0, pipe.heal)

    @property
    def guard(self) -> Witnessed:
        return self._place.guard

    def _hired(self) -> HarshWorker:
        return HarshWorker(self)

    def _hired_for(self, store: str, disk: Disk) -> Worker:
        return AwakeWorker(self, disk, store)

    def made(self) -> None:
        face = self.core.parts.context.face
        face.features = tuple(word for word in face.features if word not in self.is_silent_of)
        self.tell("start")

    @property
    def features(self) -> tuple[Feature[Parts], ...]:
        names = tuple(feature.name for feature in super().features)
        return (*super().features, Feature("observer", self.observer.enters, after=names))

    def kill(self) -> None:
        if self.is_up:
            self.observer.leaves("crash")
            self.stalled.clear()
            super().kill()
            self.store.crash(self.rng)
            self._place.let_go()

    def power_off(self) -> None:
        """End like `kill -9`, without notice to the peers."""
        if self.is_up:
            self.is_dark = True
            self.observer.leaves("crash")
            self.stalled.clear()
            self._fall_silent()
            self.store.crash(self.rng)
            self._place.let_go()

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
        self.is_closing = True
        for worker in self.workers:
            worker.drain()
        if not self.is_up:
            return  # its disk has failed
        self.core.goodbye(self.now, self.wall)
        self._carry_out_all()
        for worker in self.workers:
            worker.close()
        self._place.close()
        self._leave()

    def disk_failed(self) -> None:
        """Stop because the disk failed, and start again some seconds later.

        The last batch may or may not be written, as the next start shows. Nothing else is written.
        """
        self.history.met("stopped by its disk")
        self.observer.leaves("stop", "disk")
        self.store.crash(self.rng)
        self._place.let_go()
        self.worker.forget()
        self.is_closing = True
        self._carry_out_all()
        self.core.goodbye(self.now, self.wall)
        self._carry_out_all()
        self.worker.forget()
        self._leave()
        self.net.after(self.rng.uniform(0.5, 5.0), self.start)

    def put_back(self) -> bool:
        """Replace the store by its old copy if commits known to the witness are missing there.

        Return whether the store was replaced.
        """
        return not self.is_up and self.store.put_back(self._place.ended - UNWITNESSED)

    def let_go(self) -> None:
        self._place.let_go()
        self.store.close()

    def go_on(self, boot: int) -> None:
        if self.is_up and boot == self.disk.boot:
            self.history.met("went on after a stop")
        super().go_on(boot)

    def tell(self, kind: str, text: str = "") -> None:
        self.history.add(Event(self.net.now, kind, self.label, self.disk.boot, text=text))

    # --- its connections ----------------------------------------------------------------------------------

    def named(self, pipe: Pipe) -> None:
        if self.entrance is not None:
            self.entrance.spoke(pipe)

    def throws_out(self, pipe: Pipe) -> None:
        """Report a connection to the core as closed."""
        if pipe.is_open:
            self.tell("thrown out")
        self.net.after(0.0, lambda: self.on_closed(pipe.keys[1]))

    def uses_again(self) -> None:
        """Record that a descriptor is reused before the process has read the end of its former connection."""
        self.history.met("a descriptor used again before its end was read")

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, HangUp) and self.entrance is not None:
            self.entrance.hang_up(effect.conn)
        super()._carry_out(effect)

    def _send(self, key: Hashable, frames: list[bytes]) -> None:
        pipe = self.sockets.pipe(key)
        is_to_node = pipe is not None and all(isinstance(end, SimNode) for end in pipe.ends)
        for each in self.liar.said(frames) if self.liar is not None and is_to_node else [frames]:
            super()._send(key, each)
