"""A script is played: the mesh is set up, every step is done at its time, all is healed, and drains."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mesh.wire.commands import Introduction
from tools.simulating.filed import ONE_IN, folder
from tools.simulating.history import Event, History
from tools.simulating.machine import HarshNode
from tools.simulating.script import Script
from tools.simulating.steps import Step
from tools.simulating.weather import HarshNetwork, Wire
from tools.simulating.witness import Witness
from tools.simulating.workload import FIRST, TOPICS

HEALED = 120.0  # s after which everybody must see everybody
DRAIN, DRAINED = (
    60.0,
    300.0,
)  # s that a story goes on after its end at least, and until everything is told at most
ADVERTISED = 30.0  # s between two adverts of a node
HEARD = 0.7  # of adverts, which multicast does not promise
EVENTS = 20_000_000


class Stage:
    """One story. `history` has all of it afterwards."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.history = History()
        self.net = HarshNetwork(script.seed)
        self.net.lay(script.wire)
        self.net.disk = script.disk
        self.clients: dict[str, Witness] = {}
        self.nodes: dict[str, HarshNode] = {}
        self._was: dict[str, list[Introduction]] = {}
        self._foreign: list[HarshNode] = []
        self._folder = folder() if script.seed % ONE_IN == 0 else None
        if self._folder is not None:
            self.net.files = Path(self._folder.name)
        for name in script.nodes:
            self._node(name)

    def played(self) -> History:
        """The whole story."""
        try:
            self._play()
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error} ({where.filename.rpartition('/')[2]}:{where.lineno})"
            self._tell("problem", text)
        if self._folder is not None:
            for node in (*self.nodes.values(), *self._foreign):
                node.store.close()
            self._folder.cleanup()
        return self.history

    def _play(self) -> None:
        for name in self.nodes:
            if name not in self.script.late:
                self._start(name)
        for name, node in self.script.clients.items():
            self._client(name, node)
        for step in self.script.steps:
            self.net.at(step.at, lambda step=step: self._do(step))  # type: ignore[misc]
        self._sample()
        self.net.run(self.script.seconds)
        self._heal()
        self._drain()
        for machine in self.nodes.values():
            machine.observer.end()
        for client in self.clients.values():
            self._last_words(client)

    def _tell(self, kind: str, text: str = "", who: str = "", to: str = "") -> None:
        self.history.add(Event(self.net.now, kind, who, text=text, to=to))

    def _do(self, step: Step) -> None:
        if step.at < self.script.seconds:  # what was to end a fault later is healed with the rest
            FAULTS_AND_WORK[step.kind](self, *step.args)

    def _sample(self) -> None:
        for node in self.nodes.values():
            if node.is_up and not node.is_stopped:
                node.observer.sample()
        self.net.after(1.0, self._sample)

    # --- nodes ----------------------------------------------------------------------------------------------

    def _node(self, name: str) -> HarshNode:
        cast, script = self.script.cast, self.script
        settings = {"linger": 60.0, **script.settings, **cast.settings(name)}
        node = HarshNode(self.net, name, cast.seeds(name), settings, self.history)
        node.drift = script.drifts[name]
        self.nodes[name] = node
        return node

    def _start(self, name: str) -> None:
        node = self.nodes[name]
        if node.is_up:
            return
        node.start()
        if node.is_up:
            me = node.core.desk.me
            self._was.setdefault(name, []).append(me)
            self._advertise(name, me.boot)

    def _advertise(self, name: str, boot: int) -> None:
        """To everybody, again and again, as long as the process lives."""
        node = self.nodes[name]
        if not node.is_up or node.disk.boot != boot:
            return
        for other in self.nodes.values():
            dice = self.net.chance(f"adverts {name} > {other.name}")
            is_heard = self.net.now < FIRST or dice.random() < HEARD  # a story begins with nodes that met
            if other is not node and is_heard and self.net.passes(name, other.name):
                self._advert(name, other.name, "")
        self.net.after(ADVERTISED, lambda: self._advertise(name, boot))

    def _advert(self, name: str, to: str, age: str) -> None:
        said = self._was.get(name, [])
        if said:
            me = said[0] if age == "stale" else said[-1]
            if me is not said[-1]:
                self.history.met("stale advert")
            wait = self.net.delay(name, to)
            self.net.after(wait, lambda: self.nodes[to].advertised(me))

    def _kill(self, name: str) -> None:
        self._fault("kill", name)
        self.nodes[name].kill()

    def _power_off(self, name: str) -> None:
        self._fault("power off", name)
        self.nodes[name].power_off()

    def _close(self, name: str) -> None:
        self._fault("close", name)
        self.nodes[name].close()

    def _arm(self, name: str, point: str, seconds: float) -> None:
        self._fault(f"crash {point}", name)
        self.nodes[name].armed = (point, seconds)

    def _pause(self, name: str, seconds: float) -> None:
        node = self.nodes[name]
        if node.is_up and not node.is_stopped:
            self._fault("pause", name)
            node.pause(seconds)
            self.net.after(seconds, lambda: self._resumed(name))

    def _resumed(self, name: str) -> None:
        if not self.nodes[name].is_stopped:  # by a later pause, after a restart
            self._over("pause", name)

    def _set_clock(self, name: str, seconds: float) -> None:
        self._fault("clock", name)
        self.nodes[name].jumped = int(seconds * 1e9)
        self.history.met("wall clock jumped")

    # --- disks ----------------------------------------------------------------------------------------------

    def _fill(self, name: str, reserve: str) -> None:
        self._fault("full", name)
        disk = self.nodes[name].disk
        disk.is_full, disk.has_reserve = True, bool(reserve)

    def _make_room(self, name: str) -> None:
        self._over("full", name)
        self.nodes[name].disk.is_full = False

    def _io_error(self, name: str) -> None:
        self._fault("io error", name)
        self.nodes[name].is_failing = self.nodes[name].is_up

    def _rot(self, name: str) -> None:
        node = self.nodes[name]
        if not node.is_up and node.store.rot(self.net.chance(f"rot {name}")):
            self._fault("rot", name)

    def _restore(self, name: str) -> None:
        node = self.nodes[name]
        node.store.restore()
        if node.is_refused:
            self._start(name)

    def _disk(self, name: str, low: float, high: float) -> None:
        self._fault("slow disk", name)
        self.nodes[name].latency = (low, high)

    def _fair_disk(self, name: str) -> None:
        self._over("slow disk", name)
        self.nodes[name].latency = None

    # --- wires ----------------------------------------------------------------------------------------------

    def _fault(self, what: str, who: str, to: str = "") -> None:
        self._tell("fault", what, who, to)

    def _over(self, what: str, who: str, to: str = "") -> None:
        self._tell("over", what, who, to)

    def _cut(self, one: str, other: str) -> None:
        self._fault("cut", one, other)
        self.net.cut(one, other)

    def _shut(self, sender: str, receiver: str) -> None:
        self._fault("one way", sender, receiver)
        self.net.shut(sender, receiver)

    def _mend(self, one: str, other: str) -> None:
        self._over("cut", one, other)
        self.net.heal_pair(one, other)

    def _break(self, one: str, other: str) -> None:
        self._fault("break", one, other)
        self.net.break_all(one, other)

    def _break_client(self, name: str) -> None:
        self._fault("break client", name)
        self.net.break_all(f"client {name}")

    def _wire(self, one: str, other: str, low: float, high: float, loss: float, bandwidth: float) -> None:
        self._fault("wire", one, other)
        self.net.set_wire(one, other, Wire(low, high, loss, bandwidth))

    def _fair_wire(self, one: str, other: str) -> None:
        self._over("wire", one, other)
        self.net.set_wire(one, other, None)

    # --- those who do not belong here -----------------------------------------------------------------------

    def _stranger(self, near: str) -> None:
        """A node without the secret."""
        self._other("stranger", near, secret=b"not the user's cookie")

    def _namesake(self, name: str, near: str) -> None:
        """Another node of the same name."""
        self._other(name, near)

    def _other(self, name: str, near: str, **settings: Any) -> None:
        self._fault("stranger" if settings else "namesake", name, near)
        own = self.script.cast.settings(name) if not settings else {}
        uuid = b"foreign" + len(self._foreign).to_bytes(9)
        node = HarshNode(self.net, name, (near,), {**own, **settings, "uuid": uuid}, self.history)
        node.label = f"foreign {name} {len(self._foreign)}"  # each is another process
        self._foreign.append(node)
        node.start()
        self.net.after(20.0, node.close)

    # --- clients --------------------------------------------------------------------------------------------

    def _client(self, name: str, node: str) -> None:
        if name not in self.clients:
            session = 1 if name.startswith(("reader", "later")) else 0
            said = "later" if name.startswith("later") else name
            self.clients[name] = Witness(self.net, self.nodes[node].ipc, said, self.history, session, name)

    def _publish(self, name: str, keys: str, flag: str, domain: str, size: int) -> None:
        client = self.clients.get(name)
        if client is not None and not client.is_closed:
            words = keys.split()
            contents = [f"{name} {self.net.now:.6f} {i}".ljust(size).encode() for i in range(len(words))]
            client.publish(keys, *contents, persistent=flag == "persistent", domain=domain)

    def _send(self, name: str, to: str, flag: str, force: str, domain: str) -> None:
        client = self.clients.get(name)
        if client is not None:
            content = f"{name} {self.net.now:.6f}".encode()
            client.send(to, content, force=bool(force), persistent=flag == "persistent", domain=domain)

    def _listen(self, name: str, sub: str, pattern: str, domain: str, initial: str, rate: float) -> None:
        client = self.clients.get(name)
        if client is not None and not client.is_closed:
            client.listen(sub, pattern, domain, bool(initial), None if rate < 0 else rate)

    def _of(self, name: str, then: Callable[[Witness], None]) -> None:
        client = self.clients.get(name)
        if client is not None and not client.is_closed:
            then(client)

    def _unlisten(self, name: str, sub: str) -> None:
        self._of(name, lambda client: client.unsubscribe(client.names[sub]) if sub in client.names else None)

    def _rate(self, name: str, sub: str, rate: float) -> None:
        def change(client: Witness) -> None:
            if sub in client.names:
                client.use(client.names[sub], None if rate < 0 else rate)

        self._of(name, change)

    def _get(self, name: str, key: str, domain: str, fresh: str) -> None:
        self._of(name, lambda client: client.ask_get(key, domain, bool(fresh)))

    def _erase(self, name: str, key: str, domain: str) -> None:
        self._of(name, lambda client: client.ask_erase(key, domain))

    def _move(self, name: str, node: str) -> None:
        self.history.met("publisher went to another node")
        self._of(name, lambda client: client.move(self.nodes[node].ipc))

    def _die(self, name: str) -> None:
        self._of(name, Witness.die)

    def _bye(self, name: str) -> None:
        self._of(name, Witness.close)

    def _open_inbox(self, name: str) -> None:
        self._of(name, Witness.open_inbox)

    # --- the end --------------------------------------------------------------------------------------------

    def _heal(self) -> None:
        for other in self._foreign:
            other.close()
        for node in self.nodes.values():
            node.disk.is_full = node.is_failing = False
            node.latency, node.armed, node.jumped = None, None, 0
            node.store.restore()
        self.net.heal()
        self._tell("healed")
        self.net.run(1.0)
        self._within(HEALED, self._have_met)

    def _have_met(self) -> bool:
        """Who stopped because its name was taken, is started again."""
        for name in self.nodes:
            self._start(name)
        everybody = set(self.nodes)
        return all(n.is_up and n.alive >= everybody - {n.name} for n in self.nodes.values())

    def _within(self, seconds: float, is_done: Callable[[], bool]) -> None:
        end = self.net.now + seconds
        while self.net.now < end and not is_done():
            self.net.run(1.0)

    def _drain(self) -> None:
        for name in sorted(self.clients):
            for s in list(self.clients[name].subscriptions.values()):
                self.clients[name].use(s)
        for name in self.nodes:
            if self.script.cast.rules != "plain":
                self._client(f"later-{name}", name)
                self.clients[f"later-{name}"].open_inbox()
        self._within(HEALED, lambda: all(c.is_through for c in self.clients.values() if not c.is_closed))
        self._within(DRAIN, self._is_quiet)  # while anything waits, more could be dropped
        self._last_publishes()
        self.net.run(DRAIN)
        self._within(DRAINED - DRAIN, self._is_quiet)

    def _last_publishes(self) -> None:
        """Whoever is owed anything, or a gap, learns it with one more message."""
        self._tell("last")
        for name in self.script.clients:
            for domain in self.script.cast.domains:
                for key in TOPICS:
                    self._publish(name, key, "persistent", domain, 10)

    def _is_quiet(self) -> bool:
        figures = [node.core.figures() for node in self.nodes.values()]
        waits = any(any(f[what] for what in OPEN) for f in figures)
        waits = waits or any(node.store.load().envelopes for node in self.nodes.values())
        return not waits and all(c.is_through for c in self.clients.values() if not c.is_closed)

    def _last_words(self, client: Witness) -> None:
        if client.is_closed:
            return
        for request in client.calls.values():
            client.event("open call", text=type(request.command).__name__)
        if not client.is_through:
            client.event("open publish")


OPEN = ("pending", "stored_envelopes", "tailed_back", "commits_under_way")  # figures of what goes on
FAULTS_AND_WORK: dict[str, Callable[..., None]] = {
    "start": Stage._start, "kill": Stage._kill, "power off": Stage._power_off, "close": Stage._close,
    "arm": Stage._arm, "pause": Stage._pause, "set clock": Stage._set_clock, "fill": Stage._fill,
    "make room": Stage._make_room, "io error": Stage._io_error, "rot": Stage._rot, "restore": Stage._restore,
    "disk": Stage._disk, "fair disk": Stage._fair_disk, "cut": Stage._cut, "shut": Stage._shut,
    "mend": Stage._mend, "break": Stage._break, "break client": Stage._break_client, "wire": Stage._wire,
    "fair wire": Stage._fair_wire, "advert": Stage._advert, "stranger": Stage._stranger,
    "namesake": Stage._namesake, "client": Stage._client, "publish": Stage._publish, "send": Stage._send,
    "listen": Stage._listen, "unlisten": Stage._unlisten, "rate": Stage._rate, "get": Stage._get,
    "erase": Stage._erase, "move": Stage._move, "die": Stage._die, "bye": Stage._bye,
    "open inbox": Stage._open_inbox,
}  # fmt: skip
