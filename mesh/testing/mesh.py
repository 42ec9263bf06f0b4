"""A whole mesh in memory: real nodes and clients, without sockets, disk or processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Self, Unpack

from msgspec.structs import replace

from mesh.client.arguments import seconds
from mesh.client.batch import Batch
from mesh.client.client import Client
from mesh.client.like import shows_options
from mesh.client.message import Message
from mesh.client.oneloop import running_loop, wrong_loop
from mesh.client.options import ConnectOptions
from mesh.errors import BadArgument, Closed, MeshTimeout
from mesh.shortening import shown
from mesh.testing import arguments
from mesh.testing.arguments import Rules
from mesh.testing.client import MemoryClient, no_node
from mesh.testing.node import MemoryNode
from mesh.testing.passing import Passing
from mesh.wire.envelope import Envelope

KEPT = 10_000  # messages in `published`
JOINED = 60.0  # s for nodes to find each other


class Mesh:
    """A mesh for tests, as a context manager with or without `async`.

    A mesh shares nothing with other meshes, or with nodes on this machine.

    Args:
        nodes: The number of nodes, named a, b and so on, or a list of names. Default: 1.
        rules: The domains of each master, as {"b": ["NEWS"]}, or a mesh.toml, as text or path, whose limits
            and timing apply, too.
        clock: "real" or "virtual". Entering, `pass_time` and `joined` set the clock forward; a virtual clock
            advances only then.

    Raises:
        BadArgument: An argument is invalid.

    Example:
        async with mesh.testing.Mesh(2) as m, m.connect("a") as client:
            await client.publish("orders", b"7")
    """

    def __init__(self, nodes: int | Iterable[str] = 1, *, rules: Rules = "", clock: str = "real") -> None:
        names, config = arguments.names(nodes), arguments.config(rules)
        self._passing = Passing(arguments.clock(clock))
        self._nodes: dict[str, MemoryNode] = {}
        for number, name in enumerate(names, start=1):
            seeds = tuple(node.address for node in self._nodes.values())[:1]
            self._nodes[name] = MemoryNode(self._passing.net, name, number, seeds, config)
        self._published: deque[Message] = deque(maxlen=KEPT)
        self._is_open = self._is_over = False

    # --- opening and closing ------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        if self._is_over:
            raise Closed("The mesh was closed.", hint="Create another one.")
        if not self._is_open:
            self._is_open = True
            for node in self._nodes.values():
                node.start()
            self._passing.let_at_once(JOINED, self._is_joined)
            self._passing.clock.go()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all nodes; a second call does nothing. Raises: the error of a node that has failed."""
        if not self._is_open:
            return
        self._check_open()
        self._is_open, self._is_over = False, True
        for node in self._nodes.values():
            node.stop()
        self._passing.net.deliver_all()
        self._passing.clock.stop()
        for node in self._nodes.values():
            if node.why is not None:
                raise node.why

    # --- clients ------------------------------------------------------------------------------------------

    @shows_options(Client.__init__)
    def connect(self, address: str | None = None, *others: str, **options: Unpack[ConnectOptions]) -> Client:
        """Create a client of the node named `address`; without a name, of the first node.

        This method can replace `mesh.connect` in a test: `monkeypatch.setattr(mesh, "connect", m.connect)`.

        Args:
            address: The name of a node. Default: the first node.
            others: Names of further nodes, tried in this order if the first one does not accept the client.
            options: As for `mesh.connect`; `cluster` and `environ` are ignored.

        Returns:
            The client. Entering the context connects it.

        Example:
            async with m.connect("stork") as client:
                await client.publish("k", b"v")
        """
        self._check_open()
        options.pop("cluster", None)
        return MemoryClient(Inhabited(self), address, *others, **options)

    @property
    def published(self) -> list[Message]:
        """The last 10,000 messages that clients of this mesh sent, in order.

        Published, posted and sent messages are included, even if they were refused later.
        """
        return list(self._published)

    # --- nodes --------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of all nodes, including stopped ones."""
        return tuple(self._nodes)

    def kill(self, name: str) -> None:
        """End a node as kill -9 does. Its stored data stays, as on a disk.

        Args:
            name: The name of the node. A node that is down stays down.

        Raises:
            BadArgument: The mesh has no node of that name.

        Example:
            m.kill("stork")
        """
        self._node(name).kill()

    def start(self, name: str) -> None:
        """Start a node that was killed, with its stored data.

        Args:
            name: The name of the node. A running node stays as it is.

        Raises:
            BadArgument: The mesh has no node of that name.

        Example:
            m.start("stork")
        """
        node = self._node(name)
        if not node.is_up:
            node.start()

    def cut(self, one: str, other: str) -> None:
        """Cut the connection of two nodes, which notice the loss after 6 s.

        Args:
            one: The name of a node.
            other: The name of another node.

        Raises:
            BadArgument: The mesh has no such node, or both names are the same.

        Example:
            m.cut("heron", "stork")
        """
        if self._node(one) is self._node(other):
            raise BadArgument(f"The nodes must differ, but both are {shown(one)}.")
        self._passing.net.cut(one, other)

    def heal(self) -> None:
        """Restore all cut connections. Messages sent meanwhile arrive if the connection is not lost yet."""
        self._check_open()
        self._passing.net.heal()

    def _node(self, name: str) -> MemoryNode:
        self._check_open()
        if not isinstance(name, str) or name not in self._nodes:
            what = f"The mesh has no node named {shown(name)}; its nodes: {', '.join(self._nodes)}."
            raise BadArgument(what)
        return self._nodes[name]

    # --- time ---------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Seconds since this mesh began, including skipped time."""
        return self._passing.clock.time()

    async def pass_time(self, duration: float) -> None:
        """Advance the mesh's time by `duration` seconds for all nodes and clients, with all timers in order.

        With 0, the call waits until everything in transit has arrived and all tasks wait. Tasks run in
        between, but asyncio's own waits, such as `asyncio.sleep`, take real time.

        Args:
            duration: Seconds of the mesh's time, at least 0.

        Raises:
            BadArgument: The duration is invalid.

        Example:
            await m.pass_time(60)
        """
        self._check_open()
        self._passing.use_running_loop()
        await self._passing.let(seconds("duration", duration, zero=True))

    async def joined(self, limit: float = JOINED) -> None:
        """Let time pass until each running node sees exactly the nodes that it can reach.

        Call it after a start, a kill, a cut, or healing.

        Args:
            limit: Seconds of the mesh's time to wait.

        Raises:
            MeshTimeout: The nodes took more than `limit` seconds.

        Example:
            await m.joined()
        """
        self._check_open()
        self._passing.use_running_loop()
        await self._passing.let(seconds("limit", limit), self._is_joined)
        if not self._is_joined():
            what = f"Some nodes did not see exactly the nodes that they can reach, within {limit:g} s."
            raise MeshTimeout(what, hint="Pass a larger `limit`, in seconds of the mesh's time.")

    def _is_joined(self) -> bool:
        up = [node for node in self._nodes.values() if node.is_up]
        return all(node.serves and node.alive() == self._reached(node) - {node.name} for node in up)

    def _reached(self, node: MemoryNode) -> set[str]:
        passes, rest = self._passing.net.passes, {n.name for n in self._nodes.values() if n.is_up}
        found, new = set[str](), {node.name}
        while new:
            found, rest = found | new, rest - new
            new = {name for name in rest if any(passes(name, there) for there in new)}
        return found

    def _check_open(self) -> None:
        if not self._is_open:
            hint = "Use it inside `async with mesh.testing.Mesh() as m:`."
            raise Closed("The mesh is not open.", hint=hint)
        loop = self._passing.loop
        if loop is not None and loop.is_running() and running_loop() is not loop:
            raise wrong_loop(loop, "The mesh", "Open and use it inside one `asyncio.run`.")


class Inhabited:
    """The part of a mesh that its clients use."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh, self.net = mesh, mesh._passing.net

    def find(self, wanted: str) -> str:
        nodes = self._mesh._nodes
        named = {node.address: name for name, node in nodes.items()}
        name = named.get(wanted, wanted) or next(iter(nodes))
        if name not in nodes or not nodes[name].is_up:
            raise no_node(name, list(nodes))
        return nodes[name].ipc

    def record_published(self, envelope: Envelope, sender: str) -> None:
        told = replace(envelope, sender=sender, sent=self.net.clock.wall())
        self._mesh._published.extend(Batch(told))

    def enter(self) -> None:
        self._mesh._check_open()
        self._mesh._passing.use_running_loop()


__all__ = ["Mesh"]
