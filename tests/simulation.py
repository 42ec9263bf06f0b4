"""A mesh in memory: time is a heap, chance has a seed, and nothing but wire bytes passes.

Connections are first in, first out, as TCP is. What is under way is lost when a connection breaks, and
only the side that dialled is told of it: the other learns it by sending, as from a ROUTER socket.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, Protocol

from discovery.state import Sample
from mesh.core.effects import Commit, Dial, Effect, Gossip, HangUp, Knock, Listen, Note, Record, Send, Stop
from mesh.core.node import NodeCore
from mesh.core.settings import Settings
from mesh.errors import StoreFull
from mesh.snapshots.line import Line
from mesh.store.base import Append, Drop, Op, Put
from mesh.store.memory import MemoryStore
from mesh.wire.commands import Introduction
from mesh.wire.frames import read

SECRET = b"the user's cookie"
SPEED = (0.0002, 0.002)  # s a message takes
DISK = (0.001, 0.01)  # s a commit takes
PATIENCE = 6.0  # s after which a cut connection is given up
BUSY = 50_000  # events in a tenth of a second: somebody goes round in circles
LATE = 1e-6  # s after which a timer fires: a clock that is read never shows quite the same again


class End(Protocol):
    """One end of connections. Keys are its own names for them."""

    name: str

    def hear(self, key: Hashable, frames: list[bytes]) -> None: ...

    def gone(self, key: Hashable) -> None: ...


class Pipe:
    """A connection. Direction 0 is from the one who dialled."""

    def __init__(
        self, net: SimNetwork, dialler: End, key: Hashable, listener: SimNode, endpoint: str, number: int
    ) -> None:
        self.net = net
        self.ends: tuple[End, SimNode] = (dialler, listener)
        self.keys: tuple[Hashable, Hashable] = (key, ("in", number))
        self.endpoint = endpoint
        self.is_open = True
        self.held: list[tuple[int, list[bytes]]] = []  # while the line is cut
        self._last = [0.0, 0.0]

    @property
    def is_cut(self) -> bool:
        return frozenset(end.name for end in self.ends) in self.net.cuts

    def send(self, direction: int, frames: list[bytes]) -> None:
        if self.is_cut:
            self.held.append((direction, frames))
            return
        self._last[direction] = max(self._last[direction], self.net.now + self.net.rng.uniform(*SPEED))
        self.net.at(self._last[direction], lambda: self._arrive(direction, frames))

    def _arrive(self, direction: int, frames: list[bytes]) -> None:
        if self.is_cut:
            self.held.append((direction, frames))
        elif self.is_open:
            self.net.trace(self, direction, frames)
            if direction == 0:
                self.ends[1].heard_on(self, frames)
            else:
                self.ends[0].hear(self.keys[0], frames)

    def heal(self) -> None:
        held, self.held = self.held, []
        for direction, frames in held:
            self.send(direction, frames)

    def end(self, who: End) -> None:
        """One end is closed: what it sent arrives still, then nothing more."""
        self.net.at(self._last[self.ends.index(who)], self.lose)

    def lose(self) -> None:
        """It broke: what is under way is lost, and the dialler is told."""
        if self.is_open:
            self.is_open = False
            self.net.after(0.001, lambda: self.ends[0].gone(self.keys[0]))


class SimNetwork:
    """Time, chance, connections and nodes."""

    def __init__(self, seed: int = 0) -> None:
        self.now = 0.0
        self.rng = Random(seed)
        self.nodes: dict[str, SimNode] = {}
        self.bound: dict[str, SimNode] = {}
        self.pipes: list[Pipe] = []
        self.cuts: set[frozenset[str]] = set()
        self.disk = DISK
        self.places: dict[tuple[bytes, str, int, str], tuple[bytes, int]] = {}  # message -> its place
        self.seen: list[tuple[str, str, str]] = []  # (from, to, command), when `is_watched`
        self.is_watched = False
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._numbers = count(1)
        self._in_a_moment = 0

    @property
    def wall(self) -> int:
        return 1_700_000_000_000_000_000 + int(self.now * 1e9)

    def at(self, when: float, what: Callable[[], None]) -> None:
        heappush(self._events, (max(when, self.now), next(self._order), what))

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        self.at(self.now + seconds, what)

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + seconds
        while self._events and self._events[0][0] <= end:
            self._step()
        self.now = end

    def until(self, condition: Callable[[], Any], limit: float = 60.0) -> None:
        """Until the condition holds; an AssertionError when it does not within `limit` seconds."""
        end = self.now + limit
        while not condition():
            assert self._events and self._events[0][0] <= end, f"not within {limit} s of simulated time"
            self._step()

    def _step(self) -> None:
        when, _, what = heappop(self._events)
        self._in_a_moment = 0 if int(10 * when) > int(10 * self.now) else self._in_a_moment + 1
        assert self._in_a_moment < BUSY, "time stands still: somebody goes round in circles"
        self.now = when
        what()

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

    def connect(self, dialler: End, key: Hashable, address: str) -> Pipe | None:
        """A connection, or None when nobody listens there: then the dialler is told."""
        listener = self.bound.get(address)
        if listener is None:
            self.after(self.rng.uniform(*SPEED), lambda: dialler.gone(key))
            return None
        pipe = Pipe(self, dialler, key, listener, address, next(self._numbers))
        self.pipes = [p for p in self.pipes if p.is_open] + [pipe]
        listener.came_in[pipe.keys[1]] = pipe
        return pipe

    def break_all(self, *names: str) -> None:
        """Every connection between ends with these names is lost (of one name: all it has)."""
        for pipe in list(self.pipes):
            if set(names) <= {end.name for end in pipe.ends}:
                pipe.lose()

    def cut(self, one: str, other: str) -> None:
        """Nothing passes; what has not healed after a while is a broken connection."""
        pair = frozenset((one, other))
        self.cuts.add(pair)
        for pipe in [p for p in self.pipes if p.is_open and p.is_cut]:
            self.after(PATIENCE, lambda pipe=pipe: pipe.is_cut and pipe.lose())  # type: ignore[misc]

    def heal(self) -> None:
        self.cuts.clear()
        for pipe in self.pipes:
            pipe.heal()

    def trace(self, pipe: Pipe, direction: int, frames: list[bytes]) -> None:
        if self.is_watched:
            command, _ = read(frames)
            self.seen.append(
                (pipe.ends[direction].name, pipe.ends[1 - direction].name, type(command).__name__)
            )


@dataclass
class Disk:
    """What survives a kill -9, and whether there is room on it."""

    store: MemoryStore
    is_full: bool = False
    boot: int = 0


class SimNode:
    """A node's process, as its shell would run it."""

    def __init__(self, net: SimNetwork, name: str, seeds: tuple[str, ...], settings: dict[str, Any]) -> None:
        self.net, self.name = net, name
        number = len(net.nodes) + 1
        self.uuid: bytes = settings.pop("uuid", number.to_bytes(2) * 8)
        self.address = f"tcp://127.0.0.1:{5000 + number}"
        self.ipc = f"ipc:///run/{name}.{number}"
        self.pub = f"ipc:///run/{name}.{number}.pub"
        self.sample: Callable[[], Sample] | None = settings.pop("sample", None)
        self.listening: set[str] = set()
        self.disk = Disk(MemoryStore())
        self.notes: list[str] = []
        self.lines: list[Line] = []  # of its snapshots
        self.stop: Stop | None = None
        self.is_up = False
        self._leapt = 0  # ns
        self.came_in: dict[Hashable, Pipe] = {}
        self._settings = {"secret": SECRET, **settings}
        self._seeds = tuple(net.nodes[seed].address for seed in seeds if seed != name)
        net.nodes[f"{name}.{number}" if name in net.nodes else name] = self

    def start(self) -> None:
        """A new process with what is on the disk."""
        self.disk.boot += 1
        settings = Settings(
            me=Introduction(self.uuid, self.name, self.disk.boot, self.address, gossip=self.pub),
            seeds=self._seeds,
            **self._settings,
        )
        rng = self.net.rng
        self.core = NodeCore(settings, rng.randbytes, rng.random)
        self.is_up, self._is_closing, self.stop = True, False, None
        self.came_in, self._known = {}, set[Hashable]()
        self._dialled: dict[Hashable, Pipe | None] = {}
        self._jobs: deque[Commit] = deque()
        self._given_up: list[int] = []
        self._batch: list[Commit] = []  # on its way to the disk
        self._alarm = 0.0
        self._life = self.disk.boot
        self.net.bound[self.address] = self.net.bound[self.ipc] = self
        self.listening = set()
        self.core.start(self.disk.store.load(), self.net.now, self.wall, sample=self.sample)
        self._carry_out_all()

    def kill(self) -> None:
        """kill -9: what is not on the disk is gone, and what is under way to it, too."""
        if not self.is_up:
            return
        self.is_up = False
        del self.net.bound[self.address], self.net.bound[self.ipc]
        if self._batch and self.net.rng.random() < 0.5:
            self._write(self._batch)  # it was through just before
        for pipe in self.net.pipes:
            if self in pipe.ends and pipe.is_open:
                pipe.lose() if self.net.rng.random() < 0.5 else pipe.end(self)

    def restart(self) -> None:
        self.kill()
        self.start()

    def close(self) -> None:
        """A clean stop: what is being stored is answered, then goodbye, and the rest is written."""
        self._is_closing = True
        while self._batch or self._jobs:
            self._finish()
        self.core.goodbye(self.net.now, self.wall)
        self._carry_out_all()
        self._write([*self._batch, *self._jobs])
        self.is_up = False
        del self.net.bound[self.address], self.net.bound[self.ipc]
        for pipe in self.net.pipes:
            if self in pipe.ends and pipe.is_open:
                pipe.end(self)

    @property
    def wall(self) -> int:
        """What its clock shows."""
        return self.net.wall + self._leapt

    def leap(self, ns: int) -> None:
        """Somebody sets its clock."""
        self._leapt += ns

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
                self.core.accept(key, pipe.endpoint, pipe.endpoint.startswith("ipc:"))
            self.hear(key, frames)

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        mine = self._mine(key)
        if mine is not None:
            self.core.receive(mine, frames, self.net.now, self.wall)
            self._carry_out_all()

    def gone(self, key: Hashable) -> None:
        mine = self._mine(key)
        if mine is not None:
            self._known.discard(mine)
            self._dialled.pop(mine, None)
            self.core.disconnected(mine, self.net.now, self.wall)
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
        if self.is_up and life == self._life and self.net.now >= self._alarm:
            self._alarm = float("inf")
            self.core.tick(self.net.now, self.wall)
            self._carry_out_all()

    def _carry_out_all(self) -> None:
        for effect in self.core.take_effects():
            self._carry_out(effect)
        if self.stop is not None and not self._is_closing:
            self.close()
        if self.core.alarm < self._alarm or self._alarm <= self.net.now:
            self._alarm = max(self.core.alarm, self.net.now) + LATE
            life = self._life
            self.net.at(self._alarm, lambda: self._tick(life))

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
            if self.pub in node.listening and frozenset((self.name, node.name)) not in self.net.cuts:
                self.net.after(self.net.rng.uniform(*SPEED), lambda node=node: node.gossiped(frames))  # type: ignore[misc]

    def gossiped(self, frames: list[bytes]) -> None:
        if self.is_up:
            self.core.gossiped(frames, self.net.now, self.wall)
            self._carry_out_all()

    def _knock(self, uuid: bytes, address: str) -> None:
        """What the other machine's operating system says; nothing, when nothing passes."""
        life = self._life
        place = next((n for n in self.net.nodes.values() if address in (n.address, n.ipc)), None)
        if place is None or frozenset((self.name, place.name)) in self.net.cuts:
            return

        def told() -> None:
            if self.is_up and life == self._life:
                self.core.knocked(uuid, address not in self.net.bound, self.net.now, self.wall)
                self._carry_out_all()

        self.net.after(self.net.rng.uniform(*SPEED), told)

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
            self.net.after(self.net.rng.uniform(*self.net.disk), lambda: self._written(life))

    def _written(self, life: int) -> None:
        if self.is_up and life == self._life and self._batch:
            self._finish()

    def _finish(self) -> None:
        """The batch is on the disk; what gathered meanwhile is the next one."""
        batch, self._batch = self._batch, []
        for job, error in self._write(batch):
            if job.token is not None:
                self.core.stored(job.token, error, self.net.now, self.wall)
        self._carry_out_all()
        self._write_next()

    def _write(self, jobs: list[Commit]) -> list[tuple[Commit, StoreFull | None]]:
        """As the store's worker does: jobs in order, and what finds no room alone is passed over."""
        outcome: list[tuple[Commit, StoreFull | None]] = []
        for job in jobs:
            appends = [op.position for op in job.ops if isinstance(op, Append)]
            if self.disk.is_full and any(isinstance(op, Append | Put) for op in job.ops):
                self._given_up += appends
                outcome.append((job, StoreFull("no room")))
                continue
            ops: list[Op] = [Drop(tuple(self._given_up))] if self._given_up else []
            self._given_up.clear()
            self.disk.store.commit([*ops, *job.ops])
            outcome.append((job, None))
        return outcome


def copy_of(node: SimNode, **settings: Any) -> SimNode:
    """A second process on a copy of a node's data directory."""
    twin = SimNode(node.net, node.name, (), {**node._settings, "uuid": node.uuid, **settings})
    twin.disk = replace(node.disk)
    return twin
