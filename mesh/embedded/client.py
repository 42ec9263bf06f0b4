"""What users hold: `async with mesh.node() as m`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self
from weakref import finalize

from mesh.client.access import Access
from mesh.client.arguments import environment
from mesh.client.client import Client
from mesh.client.codecs import Codec
from mesh.client.core.client import ClientCore
from mesh.client.like import making
from mesh.client.oneloop import check_asyncio, check_loop
from mesh.client.shell import Carrier, Shell
from mesh.config import Config
from mesh.embedded.carrier import Inward
from mesh.embedded.nodethread import NodeThread, again, waited
from mesh.embedded.options import configured
from mesh.errors import Closed, DataDirRefused, MeshTimeout, NodeInUse
from mesh.local.datadir import IN_USE
from mesh.security.streamkey import StreamKey
from mesh.values import messages

ANOTHER = "Give it another name, mesh.node(NAME), or a directory of its own, data=DIR."


class Home:
    """The place where a client finds its own node: in a thread, made each time the client is opened."""

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        self.node: NodeThread | None = None
        self._config, self._environ = config, environ

    def started(self) -> NodeThread:
        """A new one."""
        self.node = NodeThread(self._config, self._environ)
        self.node.start()
        return self.node

    def open(self) -> NodeThread:
        """The node that runs; Closed, or why it has ended."""
        if self.node is None:
            raise Closed("this client is not open.", hint="Use it inside `async with mesh.node() as m:`.")
        self.node.check()
        return self.node

    def find(self, home: str) -> Access:
        """For the shell of the client: it comes in as by the file that only this user can open."""
        return Access(self.open().began.result().world.bound.ipc)

    def carrier(self, loop: asyncio.AbstractEventLoop, core: ClientCore, turn: Callable[[], None]) -> Carrier:
        """Likewise."""
        return Inward(self.open(), loop, core, turn)


class NodeClient(Client):
    """A client with a node of its own in this process. Make one with `mesh.node`; all calls from one loop."""

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
    ) -> None:
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
        return Shell(name, key, 2 * self._timeout, home.find, self._events.tell, home.carrier)

    async def __aenter__(self) -> Self:
        check_asyncio()
        if self._home.node is not None:
            raise Closed("this client was opened before.", hint="Make another with `mesh.node()`.")
        node = self._home.started()
        finalize(self, node.stop).atexit = False  # if nobody closes it; at exit others see to that
        try:
            await waited(node.began)
            return await super().__aenter__()
        except BaseException as error:
            await _ended(node)
            self._home.node = None  # it may be tried again
            if isinstance(error, DataDirRefused | NodeInUse) and error.code in (IN_USE, NodeInUse.code):
                raise type(error)(error.what, hint=ANOTHER, code=error.code) from None
            raise

    async def _elsewhere(self) -> None:
        """Its node is here."""

    async def close(self, *, drain: bool = True) -> None:
        """Wait for the answers that are still out, and until others have what this node owes them (at most
        `timeout` seconds each), then leave, and end the node.

        MeshTimeout when that was not long enough; why the node has ended, if that was not asked for.
        """
        node = self._home.node
        if node is None or not self._shell.is_open:
            return
        if node.is_forked:
            node.check()
        check_loop(self._shell.loop)
        why, node.patience = node.why, self._timeout if drain else 0.0
        try:
            await super().close(drain=drain and why is None)
        finally:
            await _ended(node)
        if drain and why is not None and (not isinstance(why, Closed) or self._publisher.outbox.unanswered):
            raise again(why)
        if drain and node.unsent:
            what = f"closed with {messages(node.unsent)} on their way to others, who do not take them."
            raise MeshTimeout(what, hint="Wait for them longer: timeout=SECONDS.")

    def _now(self) -> ClientCore:
        if self._home.node is not None and self._shell.is_open:
            self._home.node.check()
        return super()._now()


async def _ended(node: NodeThread) -> None:
    """Have it say goodbye, and wait until nothing of it is left."""
    node.stop()
    await waited(node.ended)
    node.join(1.0)  # it has nothing more to do


@making(NodeClient.__init__)
def node(*args: Any, **options: Any) -> NodeClient:
    """A node in this very process, and a client of it, as a context manager: `async with mesh.node() as m:`.

    The node has a thread and a loop of its own, so it lives on while yours is blocked. It is found as any
    other; on leaving it says goodbye and ends. `name`: the host's, by default. `data`: the directory where it
    keeps what must last; without one it has its messages in memory only. `cluster`: the mesh's name. `bind`:
    addresses to listen on. `seeds`: addresses of nodes to meet, where multicast DNS (`mdns`) does not find
    them. `config`: a file for all else, or a dict of the same shape: `{"timing": {"probe": 0.5}}`.
    `client`, `session`, `timeout` (in seconds), `codec`, `patience`, `tracing` and `environ` are as for
    `mesh.connect`.

    Raises BadConfig, BadArgument; entering it DataDirRefused, NodeInUse, BindRefused, KeysRefused or
    StoreError.
    """
    return NodeClient(*args, **options)
