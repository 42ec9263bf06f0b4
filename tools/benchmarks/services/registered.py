"""Many registrations in a mesh of five: bytes, memory, CPU time, and the delay for watchers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice

from mesh.names import ADDRESS
from mesh.proof import stream_of
from mesh.wire import commands as c
from mesh.wire.frames import read, write
from mesh.wire.limits import SERVICES
from tools.benchmarks.growth.memory import resident
from tools.benchmarks.growth.network import Counted, started, until
from tools.benchmarks.loads.figures import percentile
from tools.simulator.world.mesh import SimNetwork
from tools.simulator.world.network import Pipe

NODES = ("heron", "stork", "egret", "swan", "teal")
EACH = 500  # names in one message; registrations in one step
STEP = 0.05  # simulated s per step
LOOK = 0.001  # simulated s between two checks
LIMIT = 60.0  # simulated s until all must know
CHANGES = 1_000  # per second, half of them additions
SECONDS = 3  # simulated
CALM = 3.0  # simulated s until all is quiet
TALK = 1.0  # simulated s between two pings


class User:
    """A client at a node that serves or watches addresses.

    `known` has 1 for each watched address that has a server, and `count` is their number.
    """

    def __init__(self, net: SimNetwork, node: Counted, name: str, size: int) -> None:
        self.net, self.name, self.size = net, name, size
        self.known = bytearray(size)
        self.count = 0  # served names that it knows
        self.heard: Callable[[int, int], None] = lambda number, consumers: None
        self.bytes_said = 0
        key = name.encode().ljust(32, b"-")
        pipe = net.connect(self, 1, node.ipc)
        assert pipe is not None
        self._pipe: Pipe = pipe
        self.session = ""
        self.say(
            c.Hello(
                (1, 2),
                c.CLIENT,
                "",
                bytes(16),
                client=name,
                key=key,
                stream=stream_of(key),
                speaks=(SERVICES,),
            )
        )
        until(net, lambda: bool(self.session), f"{name} is in")
        self._live()

    def _live(self) -> None:
        self.say(c.Ping(1))
        self.net.after(TALK, self._live)

    def say(self, command: c.Command) -> None:
        frames = write(command)
        self.bytes_said += sum(map(len, frames))
        self._pipe.send(0, frames)

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        command, _ = read(frames)
        match command:
            case c.Welcome():
                self.session = command.session
            case c.Serving():
                for row in command.rows:
                    self._told(int(row.name.partition("/")[2]), row.consumers)
            case c.Reply():
                assert not command.code, command.text

    def _told(self, number: int, consumers: int) -> None:
        self.count += bool(consumers) - self.known[number]
        self.known[number] = bool(consumers)
        self.heard(number, consumers)

    def on_closed(self, key: Hashable) -> None:
        raise AssertionError(f"{self.name} was cut off")

    def watch_all(self) -> None:
        for part in _parts(range(self.size)):
            names = tuple((ADDRESS, _address(number)) for number in part)
            self.say(c.Watch(1, part[0] == 0, part[-1] < self.size - 1, names))

    def serve(self, number: int, credit: int = 1) -> None:
        """Serve an address with `credit`, or stop serving it if that is 0."""
        self.say(c.Consume(number + 1, number + 1, _address(number), credit))


class Meter:
    """The bytes that passed the network, and the CPU seconds of its nodes."""

    def __init__(self, net: SimNetwork, nodes: Sequence[Counted], users: Sequence[User]) -> None:
        self._nodes, self._users = nodes, users
        self._bytes = 0
        trace = net.trace

        def counting(pipe: Pipe, direction: int, frames: list[bytes]) -> None:
            self._bytes += sum(map(len, frames))
            trace(pipe, direction, frames)

        net.trace = counting  # type: ignore[method-assign]

    def read(self) -> tuple[float, float]:
        """Return the bytes in the network so far, without those from users, and the nodes' CPU seconds."""
        said = sum(user.bytes_said for user in self._users)
        return self._bytes - said, sum(node.spent for node in self._nodes)


def measured(size: int) -> dict[str, float]:
    """Measure `size` addresses, each with one server, and five watchers of all of them."""
    net = SimNetwork(1)
    nodes = [started(net, name, *NODES[:1], max_subscriptions=2 * size + EACH) for name in NODES]
    until(net, lambda: all(len(node.alive) == len(NODES) - 1 for node in nodes), "a mesh")
    servers = [User(net, node, f"server-{node.name}", size) for node in nodes]
    watchers = [User(net, node, f"watcher-{node.name}", size) for node in nodes]
    meter = Meter(net, nodes, servers + watchers)
    for watcher in watchers:
        watcher.watch_all()
    _pass(net, CALM)
    return _registered(net, meter, servers, watchers, size) | _changed(net, meter, servers, watchers, size)


def _registered(
    net: SimNetwork, meter: Meter, servers: list[User], watchers: list[User], size: int
) -> dict[str, float]:
    before, memory = meter.read(), resident()
    for part in _parts(range(size)):
        _pass(net, STEP)
        for number in part:
            servers[number % len(servers)].serve(number)
    last = net.now
    while not all(watcher.count == size for watcher in watchers) and net.now < last + LIMIT:
        _pass(net, LOOK)
    told = net.now - last
    assert told < LIMIT, "not all know all"
    _pass(net, CALM)
    after = meter.read()
    return {
        "registered, bytes": (after[0] - before[0]) / size,
        "registered, memory": (resident() - memory) / size,
        "registered, cpu": 1e6 * (after[1] - before[1]) / size,
        "registered, told": told,
    }


def _changed(
    net: SimNetwork, meter: Meter, servers: list[User], watchers: list[User], size: int
) -> dict[str, float]:
    """Stop and start the service of one address after the other, and return the figures."""
    before = meter.read()
    said: dict[tuple[int, int], float] = {}
    took: list[float] = []

    def heard(number: int, consumers: int) -> None:
        at = said.get((number, consumers))
        if at is not None:
            took.append(net.now - at)

    for watcher in watchers:
        watcher.heard = heard
    total = CHANGES * SECONDS
    for change in range(total):
        number, credit = change // 2 % size, change % 2
        said[number, credit] = net.now
        servers[number % len(servers)].serve(number, credit)
        _pass(net, 1 / CHANGES)
    until(net, lambda: all(watcher.count == size for watcher in watchers), "all know the last change")
    after = meter.read()
    return {
        "changes, bytes": (after[0] - before[0]) / total,
        "changes, cpu": 1e6 * (after[1] - before[1]) / total,
        "changes, p99": 1e3 * percentile(took, 0.99),
    }


def _pass(net: SimNetwork, seconds: float) -> None:
    """Let time pass.

    An event at the end keeps the network from merging many moments.
    """
    net.after(seconds, lambda: None)
    net.run(seconds)


def _address(number: int) -> str:
    return f"service/{number}"


def _parts(numbers: range) -> Iterator[list[int]]:
    left = iter(numbers)
    while part := list(islice(left, EACH)):
        yield part
