"""A node in memory: the real core, with the connections and store of a mesh for tests."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from functools import partial
from itertools import count
from random import Random
from typing import TYPE_CHECKING

from mesh.config import Config
from mesh.features.all import FEATURES
from mesh.kernel.context.effects import (
    Commit,
    Dial,
    Effect,
    Fetch,
    Gossip,
    HangUp,
    Listen,
    LogLine,
    ProbeAddress,
    Send,
    Stop,
)
from mesh.kernel.node import NodeCore
from mesh.kernel.parts import Parts
from mesh.shell.failing import failure
from mesh.shell.settings import settings_of
from mesh.store.base import begin
from mesh.store.memory import MemoryStore
from mesh.store.worker import Committer
from mesh.testing.network import Network, Pipe
from mesh.wire.commands import Introduction
from mesh.wire.metadata import said

if TYPE_CHECKING:
    from mesh.errors import MeshError

LATE = 1e-6  # s of lateness, as with a real clock
SECRET = b"of a mesh in memory"
NEVER = float("inf")
log = logging.getLogger("mesh.testing")


class MemoryNode:
    """A node in memory, which can be killed and started again. Its store survives, as a disk would."""

    def __init__(self, net: Network, name: str, number: int, seeds: tuple[str, ...], config: Config) -> None:
        self.name = name
        self.address, self.ipc = f"tcp://10.0.0.{number}:7710", f"ipc:///memory/{name}"
        self.pub = f"tcp://10.0.0.{number}:7711"
        self.is_up = False
        self.why: MeshError | None = None  # reason of a failure
        self.listening: set[str] = set()
        self._net, self._seeds, self._config = net, seeds, config
        self._uuid = number.to_bytes(2) * 8
        self._dice = Random(name)
        self._store = MemoryStore()
        self._boot = 0
        self._numbers = count(1)

    def start(self) -> None:
        self._boot += 1
        self._alarm = NEVER
        self._pipes: dict[Hashable, Pipe] = {}  # by the core's keys
        self._keys: dict[Pipe, Hashable] = {}  # the reverse
        self._committer = Committer(self._store)
        self.listening.clear()
        metadata = said(self._config.node.metadata or {})
        me = Introduction(self._uuid, self.name, self._boot, self.address, gossip=self.pub, metadata=metadata)
        settings = settings_of(
            self._config, me, self._seeds, SECRET, None, self._dice.random, log.warning, seal=self._uuid
        )
        self.core = NodeCore(Parts(settings, self._dice.randbytes, self._dice.random, FEATURES))
        image = begin(self._store, self._boot)
        self.core.start(image, *self._clock(), reach=lambda: self._store.reach)
        self.is_up = True
        self._net.bound[self.address] = self._net.bound[self.ipc] = self
        self._net.stir(self)

    def kill(self) -> None:
        """End the process as kill -9 does; messages in transit are lost, and peers notice the loss."""
        self._end_process(Pipe.lose)

    def stop(self) -> None:
        self._call("its goodbye", self.core.goodbye)
        self.turn()
        self._end_process(lambda pipe: pipe.close_end(self))

    def _end_process(self, leave: Callable[[Pipe], None]) -> None:
        if self.is_up:
            self.is_up = False
            del self._net.bound[self.address], self._net.bound[self.ipc]
            for pipe in self._net.pipes:
                if self in pipe.ends and pipe.is_open:
                    leave(pipe)

    @property
    def serves(self) -> bool:
        return self.is_up and self.core.parts.context.serves

    def alive(self) -> set[str]:
        return {peer.node.name for peer in self.core.parts.neighbours.living_peers()}

    # --- events -------------------------------------------------------------------------------------------

    def hear(self, pipe: Pipe, frames: list[bytes]) -> None:
        if self.is_up and pipe not in self._keys and pipe.ends[1] is self:
            key = self._keys[pipe] = ("in", next(self._numbers))
            self._pipes[key] = pipe
            self.core.add_inbound(key, pipe.address, pipe.address.startswith("ipc:"))
        if self.is_up and pipe in self._keys:
            self._call("a message", partial(self.core.receive, self._keys[pipe], frames))

    def on_closed(self, pipe: Pipe) -> None:
        if self.is_up and pipe in self._keys:
            key = self._keys.pop(pipe)
            del self._pipes[key]
            self._call("a connection's end", partial(self.core.disconnected, key))

    def turn(self) -> None:
        if not self.is_up:
            return
        try:
            for effect in self.core.take_effects():
                self._carry_out(effect)
        except Exception as error:
            self._fail(error, "the end of a turn")
        if self.is_up and self.core.alarm < self._alarm:
            self._alarm = self.core.alarm
            when = max(self._alarm, self._net.clock.time()) + LATE
            self._net.clock.call_at(when, partial(self._tick, self._boot))

    def _tick(self, boot: int) -> None:
        if self.is_up and boot == self._boot and self._net.clock.time() >= self._alarm:
            self._alarm = NEVER
            self._call("a tick", self.core.tick)

    def _clock(self) -> tuple[float, int]:
        return self._net.clock.time(), self._net.clock.wall()

    def _call(self, what: str, happens: Callable[[float, int], None]) -> None:
        if self.is_up:
            try:
                happens(*self._clock())
            except Exception as error:
                self._fail(error, what)
            self._net.stir(self)

    def _fail(self, error: Exception, what: str) -> None:
        self.why = failure(error, what)
        self.kill()

    # --- effects ------------------------------------------------------------------------------------------

    def _carry_out(self, effect: Effect) -> None:  # noqa: C901
        match effect:
            case Send(key, frames):
                if key in self._pipes:
                    self._pipes[key].send(self, frames)
            case Dial(key, address):
                pipe = self._pipes[key] = self._net.dial(self, address)
                self._keys[pipe] = key
            case HangUp(key):
                if key in self._pipes:
                    pipe = self._pipes.pop(key)
                    del self._keys[pipe]
                    pipe.close_end(self)
            case Gossip(frames):
                self._tell_all(frames)
            case Listen(address, wanted):
                (self.listening.add if wanted else self.listening.discard)(address)
            case ProbeAddress(uuid, address):
                self._knock(uuid, address)
            case Commit():
                self._commit(effect)
            case Fetch(token, positions):
                fetched = partial(self.core.fetched, token, self._store.read(positions))
                self._net.soon(partial(self._later, self._boot, "what was read", fetched))
            case LogLine(level, text):
                log.log(
                    logging.getLevelNamesMapping().get(level.upper(), logging.INFO), "%s: %s", self.name, text
                )
            case Stop(error, _):
                if error:
                    log.error("%s: %s", self.name, error)
                self.stop()

    def _commit(self, job: Commit) -> None:
        for _, error in self._committer.settle([job]):
            if job.token is not None:
                stored = partial(self.core.stored, job.token, error)
                self._net.soon(partial(self._later, self._boot, "the end of a commit", stored))

    def _later(self, boot: int, what: str, happens: Callable[[float, int], None]) -> None:
        if boot == self._boot:
            self._call(what, happens)

    def _tell_all(self, frames: list[bytes]) -> None:
        for node in dict.fromkeys(self._net.bound.values()):
            if (
                isinstance(node, MemoryNode)
                and self.pub in node.listening
                and self._net.passes(self.name, node.name)
            ):
                self._net.soon(
                    partial(node._later, node._boot, "gossip", partial(node.core.gossiped, frames))
                )

    def _knock(self, uuid: bytes, address: str) -> None:
        """Report whether a process listens at an address; a node that is cut off does not answer."""
        there = self._net.bound.get(address)
        if there is None or self._net.passes(self.name, there.name):
            knocked = partial(self.core.knocked, uuid, there is None)
            self._net.soon(partial(self._later, self._boot, "a knock", knocked))
