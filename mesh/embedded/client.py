"""A client with its own node: `async with mesh.node() as m`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Never, Self, Unpack
from weakref import finalize

from mesh.client.access import Access
from mesh.client.arguments import environment
from mesh.client.client import Client
from mesh.client.codecs import Codec
from mesh.client.core.client import ClientCore
from mesh.client.like import shows_options
from mesh.client.oneloop import check_asyncio, check_loop
from mesh.client.options import NodeOptions, unknown_option
from mesh.client.shell import Carrier, Shell
from mesh.config import Config
from mesh.embedded.carrier import Inward
from mesh.embedded.nodethread import NodeThread, again, waited
from mesh.embedded.options import configured
from mesh.errors import Closed, DataDirRefused, MeshTimeout, NodeInUse
from mesh.local.datadir import IN_USE
from mesh.security.streamkey import StreamKey
from mesh.values import messages

ANOTHER = "Use another name, mesh.node(NAME), or another directory, data=DIR."


class Home:
    """The node of a client, which runs in a new thread each time the client is opened."""

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        self.node: NodeThread | None = None
        self._config, self._environ = config, environ

    def started(self) -> NodeThread:
        """Start the node in a new thread, and return the thread."""
        self.node = NodeThread(self._config, self._environ)
        self.node.start()
        return self.node

    def node_thread(self) -> NodeThread:
        """Return the thread of the running node. Raises: Closed, or the error that ended the node."""
        if self.node is None:
            raise Closed("The client is not open.", hint="Use it inside `async with mesh.node() as m:`.")
        self.node.raise_if_ended()
        return self.node

    def find_access(self, home: str, place: str = "", site: str = "") -> Access:
        """Return the node's local socket as the client's address; the arguments are ignored."""
        return Access(self.node_thread().began.result().world.bound.ipc)

    def carrier(self, loop: asyncio.AbstractEventLoop, core: ClientCore, turn: Callable[[], None]) -> Carrier:
        """Return a connection between the client's core and the node. Raises: as `node_thread`."""
        return Inward(self.node_thread(), loop, core, turn)


class NodeClient(Client):
    """A client with a node of its own in this process, created by `mesh.node`.

    All calls must come from the event loop in which the client was opened.
    """

    def __init__(  # noqa: PLR0913
        self,
        name: str | None = None,
        *,
        data: str | os.PathLike[str] | None = None,
        cluster: str | None = None,
        bind: str | Iterable[str] = (),
        seeds: str | Iterable[str] = (),
        mdns: bool | None = None,
        config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        client: str | None = None,
        session: int | None = None,
        timeout: float | None = None,
        environ: Mapping[str, str] | None = None,
        codec: Codec | str = "json",
        patience: float | None = None,
        tracing: bool = False,
        **unknown: Never,
    ) -> None:
        if unknown:
            raise unknown_option(unknown, NodeOptions)
        environ = environment(environ)
        settings = configured(name, data, cluster, bind, seeds, mdns, config, environ)
        self._home = Home(settings, environ)
        super().__init__(
            client=client,
            session=session,
            timeout=timeout,
            environ=environ,
            codec=codec,
            patience=patience,
            tracing=tracing,
        )

    def _made(self, name: tuple[str, int, bool], key: StreamKey) -> Shell:
        home = self._home
        return Shell(name, key, 2 * self._timeout, home.find_access, self._events.announce, home.carrier)

    async def __aenter__(self) -> Self:
        check_asyncio()
        if self._home.node is not None:
            raise Closed("The client was opened before.", hint="Create another one with `mesh.node()`.")
        node = self._home.started()
        finalize(self, node.stop).atexit = False  # for a dropped client; `_end_all` handles the exit
        try:
            await waited(node.began)
            return await super().__aenter__()
        except BaseException as error:
            await _ended(node)
            self._home.node = None  # so that opening can be retried
            if isinstance(error, DataDirRefused | NodeInUse) and error.code in (IN_USE, NodeInUse.code):
                raise type(error)(error.what, hint=ANOTHER, code=error.code) from None
            raise

    async def _elsewhere(self, given: str | None) -> None:
        """Return None: the node is in this process."""

    async def close(self, *, drain: bool = True) -> None:
        """Wait until messages are answered and this node's messages are delivered, then end client and node.

        Client and node end even after an error.

        Args:
            drain: Whether to wait, each time for at most `timeout` seconds.

        Raises:
            MeshTimeout: Messages were still unanswered or undelivered.
            PublishRefused: The first refusal for which no receipt was awaited.
            MeshError: The node had already ended, with this error.
        """
        node = self._home.node
        if node is None or not self._shell.is_open:
            return
        if node.is_forked:
            node.raise_if_ended()
        check_loop(self._shell.loop)
        why, node.patience = node.why, self._timeout if drain else 0.0
        try:
            await super().close(drain=drain and why is None)
        finally:
            await _ended(node)
        if drain and why is not None and (not isinstance(why, Closed) or self._publisher.outbox.unanswered):
            raise again(why)
        if drain and node.unsent:
            what = f"The node was closed before its receivers had acknowledged {messages(node.unsent)}."
            raise MeshTimeout(what, hint="To wait longer: timeout=SECONDS.")

    def _now(self) -> ClientCore:
        if self._home.node is not None and self._shell.is_open:
            self._home.node.raise_if_ended()
        return super()._now()


async def _ended(node: NodeThread) -> None:
    node.stop()
    await waited(node.ended)
    node.join(1.0)  # the thread is about to end


@shows_options(NodeClient.__init__)
def node(name: str | None = None, **options: Unpack[NodeOptions]) -> NodeClient:
    """Create a node in this process and a client of it, to be used as a context manager.

    The node has a thread and an event loop of its own, so it keeps running while yours is blocked. Other
    nodes find it like any other node. On leaving, the node announces its end and stops.

    Args:
        name: The node's name. Default: the host's name.
        data: The directory for persistent data. Default: messages are kept in memory only.
        cluster: The name of the mesh.
        bind: An address or addresses to listen on.
        seeds: Addresses of nodes to connect to, where multicast DNS does not find them.
        mdns: Whether to use multicast DNS.
        config: A configuration file, or a dict of the same shape: `{"timing": {"probe": 0.5}}`.
        client: The client's name. This and the following arguments are as for `mesh.connect`.
        session: A fixed session number, at least 1.
        timeout: Seconds to connect, and for each step of closing. Default: 5.
        environ: Variables used instead of `os.environ`.
        codec: The codec for values.
        patience: Seconds that a call waits unless its own `timeout` is given.
        tracing: Whether to record OpenTelemetry spans.

    Raises:
        BadConfig, BadArgument: A setting or argument is invalid.
        DataDirRefused, NodeInUse, BindRefused, KeysRefused, StoreError: On entering: the node cannot start.

    Example:
        async with mesh.node("sensor-7", seeds="tcp://heron:7710") as m:
            await m.publish("sensors/7", b"up")
    """
    return NodeClient(name, **options)
