"""A process in the simulated mesh: the real core on simulated wires and a simulated disk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

from mesh.discovery.state import Sample
from mesh.features.all import FEATURES
from mesh.features.services.node.parts import ServiceParts
from mesh.kernel.context import effects
from mesh.kernel.context.settings import Settings
from mesh.kernel.feature import Feature
from mesh.kernel.node import NodeCore
from mesh.kernel.parts import Parts
from mesh.security.signing import verify
from mesh.snapshots.line import HistoryLine
from mesh.store.memory import MemoryStore
from mesh.wire.commands import Introduction
from mesh.wire.limits import VERSION_MAX
from mesh.wire.metadata import said
from tools.simulator.world.identity import address, combined, local_address
from tools.simulator.world.network import LATE, SECRET, Network, Pipe
from tools.simulator.world.sockets import Sockets
from tools.simulator.world.volume import Disk, opened
from tools.simulator.world.worker import Worker


class SimNode:
    """A node's process, as its shell would run it.

    Nodes use the versions of the wire protocol in `newest` in turn, beginning with the first node of a
    network.
    """

    newest: Sequence[int] = (VERSION_MAX,)  # versions of the wire protocol

    def __init__(
        self, net: Network[SimNode], name: str, seeds: tuple[str, ...], settings: dict[str, Any]
    ) -> None:
        self.net, self.name = net, name
        self.rng = net.chance(name)
        number = len(net.nodes) + 1
        self.uuid: bytes = settings.pop("uuid", number.to_bytes(2) * 8)
        self.address = address(number)
        self.ipc = local_address(name, number)
        self.pub = f"ipc:///run/{name}.{number}.pub"
        self.key: bytes = settings.pop("key", b"")  # public key of its identity,
        self.metadata = said(settings.pop("metadata", {}))
        keyring = settings.get("keyring")
        self.curve: str = keyring.mine if keyring else ""  # and that of its sockets
        self.sample: Callable[[], Sample] | None = settings.pop("sample", None)
        self.listening: set[str] = set()
        self.disk = Disk(MemoryStore())
        self.others = {store: Disk(MemoryStore()) for _, store in settings.get("stores", ())}  # of queues
        self.notes: list[str] = []
        self.lines: list[HistoryLine] = []  # of its snapshots
        self.stop: effects.Stop | None = None
        self.is_up = False
        self.jumped = 0  # ns by which its wall clock is ahead
        self._part_of: dict[str, int] = {}  # index of the component by figure
        newest = self.newest[(number - 1) % len(self.newest)]
        self._settings = {"secret": SECRET, "seal": self.uuid, "wire_version": newest, **settings}
        self._seeds = tuple(net.nodes[seed].address for seed in seeds if seed != name)
        net.nodes[f"{name}.{number}" if name in net.nodes else name] = self

    def _introduction(self) -> Introduction:
        me = self.uuid, self.name, self.disk.boot, self.address
        return Introduction(*me, gossip=self.pub, key=self.key, metadata=self.metadata)

    def start(self) -> None:
        """Start a new process with the content of the disk."""
        self.disk.boot += 1
        settings = Settings(
            me=self._introduction(), seeds=self._seeds, verify=verify, **combined(self._settings)
        )
        rng = self.rng
        self.core = NodeCore(Parts(settings, rng.randbytes, rng.random, self.features))
        self.is_up, self.is_closing, self.stop = True, False, None
        self._alarm = 0.0
        self._life = self.disk.boot
        self.sockets = Sockets(self.net, self, self._life)
        self.worker = self._hired()
        self.at_others = {store: self._hired_for(store, disk) for store, disk in self.others.items()}
        self.net.bound[self.address] = self.net.bound[self.ipc] = self
        self.listening = set()
        self.made()
        is_accepted = self._settings.get("accept_rollback", False)
        images = opened({"": self.disk, **self.others}, self.disk.boot, is_accepted)
        self.core.start(
            images.pop(""), self.now, self.wall, sample=self.sample, others=images,
            reach=lambda: self.disk.reach, is_tight=lambda: self.disk.is_tight,
        )  # fmt: skip
        self._carry_out_all()

    @property
    def features(self) -> tuple[Feature[Parts], ...]:
        return FEATURES

    def _hired(self) -> Worker:
        return Worker(self, self.disk)

    def _hired_for(self, store: str, disk: Disk) -> Worker:
        return Worker(self, disk, store)

    @property
    def workers(self) -> Collection[Worker]:
        """The workers: that of the node's own store, and one for each store of queues."""
        return (self.worker, *self.at_others.values())

    @property
    def came_in(self) -> dict[Hashable, Pipe]:
        return self.sockets.came_in

    def made(self) -> None:
        """Handle the creation of the core before it starts; subclasses override this."""

    def kill(self) -> None:
        """End like `kill -9`: data that is not durable is lost, and so are frames in flight, at random."""
        if not self.is_up:
            return
        self._fall_silent()
        for worker in self.workers:
            worker.kill()
        for pipe in self.net.pipes:
            if self in pipe.ends and pipe.is_open:
                pipe.lose() if self.rng.random() < 0.5 else pipe.end(self)

    def restart(self) -> None:
        self.kill()
        self.start()

    def close(self) -> None:
        """Stop cleanly: finish stores in progress, say goodbye, and write the rest."""
        self.is_closing = True
        for worker in self.workers:
            worker.drain()
        self.core.goodbye(self.now, self.wall)
        self._carry_out_all()
        for worker in self.workers:
            worker.close()
        self._leave()

    def _leave(self) -> None:
        self._fall_silent()
        for pipe in self.net.pipes:
            if self in pipe.ends and pipe.is_open:
                pipe.end(self)

    def _fall_silent(self) -> None:
        """Release the addresses, so that no other end can connect."""
        self.is_up = False
        del self.net.bound[self.address], self.net.bound[self.ipc]

    # --- its clock ------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """The time of the node's monotonic clock in s."""
        return self.net.now

    @property
    def wall(self) -> int:
        """The time of the node's wall clock, in ns since 1970."""
        return self.net.wall + self.jumped

    def leap(self, ns: int) -> None:
        """Move the node's wall clock by `ns`."""
        self.jumped += ns

    def when(self, moment: float) -> float:
        """Return the network's time at which the node's clock shows `moment`."""
        return moment

    # --- figures --------------------------------------------------------------------------------------

    @property
    def alive(self) -> set[str]:
        return {peer.node.name for peer in self.core.parts.neighbours.peers.values() if peer.alive}

    def metric(self, name: str) -> int:
        """Return one figure.

        Conditions are checked after each event, so only the component with the figure is asked.
        """
        parts = self.core.parts.context.face._figures
        at = self._part_of.get(name)
        if at is not None and name in (figures := parts[at]()):
            return int(figures[name])
        self._part_of.update((name, at) for at, figures in enumerate(parts) if name in figures())
        return int(self.core.parts.status.node_info().metrics[name])

    # --- effects --------------------------------------------------------------------------------------

    def heard_on(self, pipe: Pipe, frames: list[bytes]) -> None:
        key = pipe.keys[1]
        if self.is_up and self.came_in.get(key) is pipe:
            if self.sockets.is_new(key):
                self.named(pipe)
                user = getattr(pipe.ends[0], "curve", "")
                self.core.add_inbound(key, pipe.endpoint, pipe.endpoint.startswith("ipc:"), user)
            self.hear(key, frames)

    def named(self, pipe: Pipe) -> None:
        """Handle the first message on an inbound connection; subclasses override this."""

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        mine = self.sockets.mine(key)
        if mine is not None and self.is_up:
            self.core.receive(mine, frames, self.now, self.wall)
            self._carry_out_all()

    def on_closed(self, key: Hashable) -> None:
        mine = self.sockets.mine(key)
        if mine is not None and self.is_up:
            self.sockets.forget(mine)
            self.core.disconnected(mine, self.now, self.wall)
            self._carry_out_all()

    def left(self, life: int, key: Hashable) -> None:
        """Report the end of an inbound connection to the core.

        The transport knows whose connection ended. Most seeds were recorded without that report, so only a
        client with work is reported by name. Other clients are detected by their silence.
        """
        if not self.is_up or life != self._life:
            return
        if self._has_work(key):
            self.on_closed(key)
        elif self.core.parts[ServiceParts].serving.addresses:
            self.core.on_inbound_closed(self.now, self.wall)
            self._carry_out_all()

    def _has_work(self, key: Hashable) -> bool:
        conn = self.core.parts.dialler.conns.get(self.sockets.mine(key))
        session = conn and self.core.parts.sessions.session_of(conn)
        return bool(session) and self.core.parts.context.face.has_work(session)

    def _tick(self, life: int) -> None:
        if self.is_up and life == self._life and self.now >= self._alarm:
            self._alarm = float("inf")
            self.core.tick(self.now, self.wall)
            self._carry_out_all()

    def _carry_out_all(self) -> None:
        for effect in self.core.take_effects():
            self._carry_out(effect)
        if self.stop is not None and not self.is_closing:
            self.close()
        if self.core.alarm < self._alarm or self._alarm <= self.now:
            self._alarm = max(self.core.alarm, self.now) + LATE
            life = self._life
            self.net.at(self.when(self._alarm), lambda: self._tick(life))

    def _carry_out(self, effect: effects.Effect) -> None:
        match effect:
            case effects.Send(key, frames):
                self._send(key, frames)
            case effects.Dial(key, address):
                self.sockets.dial(key, address)
            case effects.HangUp(key):
                self.sockets.hang_up(key)
            case effects.Gossip(frames):
                self.sockets.gossip(frames)
            case effects.Listen(address, wanted):
                (self.listening.add if wanted else self.listening.discard)(address)
            case effects.ProbeAddress(uuid, address):
                self.sockets.knock(uuid, address)
            case effects.Commit() | effects.Fetch():
                (self.at_others[effect.store] if effect.store else self.worker).take(effect)
            case effects.LogLine(level, text):
                self.notes.append(f"{level}: {text}")
            case effects.WriteLine(line):
                self.lines.append(line)
            case effects.Stop():
                self.stop = effect

    def gossiped(self, frames: list[bytes]) -> None:
        if self.is_up:
            self.core.gossiped(frames, self.now, self.wall)
            self._carry_out_all()

    def knocked(self, life: int, uuid: bytes, is_refused: bool) -> None:
        if self.is_up and life == self._life:
            self.core.knocked(uuid, is_refused, self.now, self.wall)
            self._carry_out_all()

    def _send(self, key: Hashable, frames: list[bytes]) -> None:
        self.sockets.send(key, frames)
