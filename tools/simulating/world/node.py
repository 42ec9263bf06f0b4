"""A process in the simulated mesh: the real core, carried out on simulated wires and a simulated disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discovery.state import Sample
from mesh.core.desk.effects import (
    Commit,
    Dial,
    Effect,
    Gossip,
    HangUp,
    Knock,
    Listen,
    Note,
    Record,
    Send,
    Stop,
)
from mesh.core.desk.settings import Settings
from mesh.core.node import NodeCore
from mesh.errors import StoreFull
from mesh.operations import Append, Image, Op, Put, Reach
from mesh.security.signing import verify
from mesh.snapshots.line import Line
from mesh.store.base import Store, begin
from mesh.store.memory import MemoryStore
from mesh.store.worker import Committer
from mesh.wire.commands import Introduction
from mesh.wire.limits import VERSION_MAX
from tools.simulating.world.network import LATE, SECRET, Network, Pipe


@dataclass
class Disk:
    """What survives a kill -9, and whether there is room on it."""

    store: MemoryStore
    is_full: bool = False
    has_reserve: bool = False  # of room for what adds no message
    boot: int = 0

    def load(self) -> Image:
        return self.store.load()

    def refuses(self, ops: Iterable[Op]) -> bool:
        """Is there no room for these?"""
        kinds = Append if self.has_reserve else Append | Put
        return self.is_full and any(isinstance(op, kinds) for op in ops)

    def commit(self, ops: Sequence[Op]) -> None:
        """StoreFull when there is no room for them."""
        if self.refuses(ops):
            raise StoreFull("no room")
        self.store.commit(ops)

    @property
    def reach(self) -> Reach:
        return self.store.reach

    def close(self) -> None:
        """It stays."""


class SimNode:
    """A node's process, as its shell would run it.

    The first of a network speaks the first of `newest`, the next one the next, and so on all over again.
    """

    newest: Sequence[int] = (VERSION_MAX,)  # versions of the wire

    def __init__(self, net: SimNetwork, name: str, seeds: tuple[str, ...], settings: dict[str, Any]) -> None:
        self.net, self.name = net, name
        self.rng = net.chance(name)
        number = len(net.nodes) + 1
        self.uuid: bytes = settings.pop("uuid", number.to_bytes(2) * 8)
        self.address = f"tcp://127.0.0.1:{5000 + number}"
        self.ipc = f"ipc:///run/{name}.{number}"
        self.pub = f"ipc:///run/{name}.{number}.pub"
        self.key: bytes = settings.pop("key", b"")  # the public one of its identity,
        keyring = settings.get("keyring")
        self.curve: str = keyring.mine if keyring else ""  # and that of its sockets
        self.sample: Callable[[], Sample] | None = settings.pop("sample", None)
        self.listening: set[str] = set()
        self.disk = Disk(MemoryStore())
        self.notes: list[str] = []
        self.lines: list[Line] = []  # of its snapshots
        self.stop: Stop | None = None
        self.is_up = False
        self.jumped = 0  # ns that its wall clock was set forward
        self.came_in: dict[Hashable, Pipe] = {}
        newest = self.newest[(number - 1) % len(self.newest)]
        self._settings = {"secret": SECRET, "seal": self.uuid, "wire_version": newest, **settings}
        self._seeds = tuple(net.nodes[seed].address for seed in seeds if seed != name)
        net.nodes[f"{name}.{number}" if name in net.nodes else name] = self

    def start(self) -> None:
        """A new process with what is on the disk."""
        self.disk.boot += 1
        settings = Settings(
            me=Introduction(
                self.uuid, self.name, self.disk.boot, self.address, gossip=self.pub, key=self.key
            ),
            seeds=self._seeds,
            verify=verify,
            **self._settings,
        )
        rng = self.rng
        self.core = NodeCore(settings, rng.randbytes, rng.random)
        self.is_up, self._is_closing, self.stop = True, False, None
        self.came_in, self._known = {}, set[Hashable]()
        self._dialled: dict[Hashable, Pipe | None] = {}
        self._jobs: deque[Commit] = deque()
        self._committer = Committer(self._taken())
        self._batch: list[Commit] = []  # on its way to the disk
        self._alarm = 0.0
        self._life = self.disk.boot
        self.net.bound[self.address] = self.net.bound[self.ipc] = self
        self.listening = set()
        self.made()
        self.core.start(self.begin(), self.now, self.wall, sample=self.sample, reach=lambda: self.disk.reach)
        self._carry_out_all()

    def _taken(self) -> Store:
        """What its worker writes to."""
        return self.disk

    def begin(self) -> Image:
        """Take the store into use."""
        return begin(self.disk.store, self.disk.boot, self._settings.get("accept_rollback", False))

    def made(self) -> None:
        """Its core is there, and has not begun."""

    def kill(self) -> None:
        """kill -9: what is not on the disk is gone, and what is under way to it, too."""
        if not self.is_up:
            return
        self.is_up = False
        del self.net.bound[self.address], self.net.bound[self.ipc]
        if self._batch and self.rng.random() < 0.5:
            self._write(self._batch)  # it was through just before
        for pipe in self.net.pipes:
            if self in pipe.ends and pipe.is_open:
                pipe.lose() if self.rng.random() < 0.5 else pipe.end(self)

    def restart(self) -> None:
        self.kill()
        self.start()

    def close(self) -> None:
        """A clean stop: what is being stored is answered, then goodbye, and the rest is written."""
        self._is_closing = True
        while self._batch or self._jobs:
            self._finish()
        self.core.goodbye(self.now, self.wall)
        self._carry_out_all()
        self._write([*self._batch, *self._jobs])
        self.is_up = False
        del self.net.bound[self.address], self.net.bound[self.ipc]
        for pipe in self.net.pipes:
            if self in pipe.ends and pipe.is_open:
                pipe.end(self)

    # --- its clock ------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """Seconds on its monotonic clock."""
        return self.net.now

    @property
    def wall(self) -> int:
        """What its wall clock shows."""
        return self.net.wall + self.jumped

    def leap(self, ns: int) -> None:
        """Somebody sets its wall clock."""
        self.jumped += ns

    def when(self, moment: float) -> float:
        """In the time of the network: when its clock shows that."""
        return moment

    # --- what is known of it --------------------------------------------------------------------------

    @property
    def alive(self) -> set[str]:
        """Names of the others that are alive to it."""
        return {peer.node.name for peer in self.core.neighbours.peers.values() if peer.alive}

    def metric(self, name: str) -> int:
        return int(self.core.info()["metrics"][name])

    # --- its world ------------------------------------------------------------------------------------

    def heard_on(self, pipe: Pipe, frames: list[bytes]) -> None:
        key = pipe.keys[1]
        if self.is_up and self.came_in.get(key) is pipe:
            if key not in self._known:
                self._known.add(key)
                user = getattr(pipe.ends[0], "curve", "")
                self.core.accept(key, pipe.endpoint, pipe.endpoint.startswith("ipc:"), user)
            self.hear(key, frames)

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        mine = self._mine(key)
        if mine is not None:
            self.core.receive(mine, frames, self.now, self.wall)
            self._carry_out_all()

    def gone(self, key: Hashable) -> None:
        mine = self._mine(key)
        if mine is not None:
            self._known.discard(mine)
            self._dialled.pop(mine, None)
            self.core.disconnected(mine, self.now, self.wall)
            self._carry_out_all()

    def _mine(self, key: Hashable) -> Hashable | None:
        """The core's own name of a connection that is still in use: a later process counts anew."""
        match key:
            case ("out", life, number) if life == self._life and number in self._dialled and self.is_up:
                return number
            case ("in", _) if key in self._known and self.is_up:
                return key
        return None

    def _tick(self, life: int) -> None:
        if self.is_up and life == self._life and self.now >= self._alarm:
            self._alarm = float("inf")
            self.core.tick(self.now, self.wall)
            self._carry_out_all()

    def _carry_out_all(self) -> None:
        for effect in self.core.take_effects():
            self._carry_out(effect)
        if self.stop is not None and not self._is_closing:
            self.close()
        if self.core.alarm < self._alarm or self._alarm <= self.now:
            self._alarm = max(self.core.alarm, self.now) + LATE
            life = self._life
            self.net.at(self.when(self._alarm), lambda: self._tick(life))

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Send(key, frames):
                self._send(key, frames)
            case Dial(key, address):
                self._dialled[key] = self.net.connect(self, ("out", self._life, key), address)
            case HangUp(key):
                self._known.discard(key)
                pipe = self._dialled.pop(key, None)
                if pipe is not None:
                    pipe.end(self)
            case Gossip(frames):
                self._gossip(frames)
            case Listen(address, wanted):
                (self.listening.add if wanted else self.listening.discard)(address)
            case Knock(uuid, address):
                self._knock(uuid, address)
            case Commit():
                self._jobs.append(effect)
                self._write_next()
            case Note(level, text):
                self.notes.append(f"{level}: {text}")
            case Record(line):
                self.lines.append(line)
            case Stop():
                self.stop = effect

    def _gossip(self, frames: list[bytes]) -> None:
        for node in self.net.nodes.values():
            if self.pub in node.listening and self.net.passes(self.name, node.name):
                wait = self.net.delay(self.name, node.name)
                self.net.after(wait, lambda node=node: node.gossiped(frames))  # type: ignore[misc]

    def gossiped(self, frames: list[bytes]) -> None:
        if self.is_up:
            self.core.gossiped(frames, self.now, self.wall)
            self._carry_out_all()

    def _knock(self, uuid: bytes, address: str) -> None:
        """What the other machine's operating system says; nothing, when nothing passes."""
        life = self._life
        place = next((n for n in self.net.nodes.values() if address in (n.address, n.ipc)), None)
        if place is None or not self.net.passes(self.name, place.name):
            return
        wait = self.net.delay(self.name, place.name)
        self.net.after(wait, lambda: self.knocked(life, uuid, address not in self.net.bound))

    def knocked(self, life: int, uuid: bytes, is_refused: bool) -> None:
        if self.is_up and life == self._life:
            self.core.knocked(uuid, is_refused, self.now, self.wall)
            self._carry_out_all()

    def _send(self, key: Hashable, frames: list[bytes]) -> None:
        pipe = self._dialled.get(key) or (self.came_in.get(key) if key in self._known else None)
        if pipe is not None and pipe.is_open:
            pipe.send(0 if key in self._dialled else 1, frames)
        else:
            outer = ("out", self._life, key) if key in self._dialled else key
            self.net.after(0.0, lambda: self.gone(outer))

    # --- its disk ---------------------------------------------------------------------------------------

    def _write_next(self) -> None:
        if self._jobs and not self._batch:
            self._batch, self._jobs = list(self._jobs), deque()
            life = self._life
            self.net.after(self.rng.uniform(*self.net.disk), lambda: self._written(life))

    def _written(self, life: int) -> None:
        if self.is_up and life == self._life and self._batch:
            self._finish()

    def _finish(self) -> None:
        """The batch is on the disk; what gathered meanwhile is the next one."""
        batch, self._batch = self._batch, []
        for job, error in self._write(batch):
            if job.token is not None:
                self.core.stored(job.token, error, self.now, self.wall)
        self._carry_out_all()
        self._write_next()

    def _write(self, jobs: Sequence[Commit]) -> list[tuple[Commit, StoreFull | None]]:
        """As the store's worker does, but for its thread."""
        outcome: list[tuple[Commit, StoreFull | None]] = []
        for settled, error in self._committer.settle(jobs) if jobs else ():
            if error is not None and not isinstance(error, StoreFull):
                raise error
            outcome += [(job, error) for job in settled if isinstance(job, Commit)]
        return outcome


def copy_of(node: SimNode, **settings: Any) -> SimNode:
    """A second process on a copy of a node's data directory."""
    twin = SimNode(node.net, node.name, (), {**node._settings, "uuid": node.uuid, **settings})
    twin.disk = replace(node.disk)
    return twin


class SimNetwork(Network):
    """A network that makes its nodes."""

    def __init__(self, seed: int = 0) -> None:
        self.nodes: dict[str, SimNode] = {}
        super().__init__(seed)

    def node(self, name: str, *seeds: str, **settings: Any) -> SimNode:
        """A node of this name that is running; `seeds` are names of others."""
        node = SimNode(self, name, seeds, settings)
        node.start()
        return node

    def mesh(self, *names: str, **settings: Any) -> list[SimNode]:
        """Nodes that all know each other."""
        nodes = [self.node(name, *names[:1], **settings) for name in names]
        self.until(lambda: all(len(node.alive) == len(names) - 1 for node in nodes))
        return nodes
