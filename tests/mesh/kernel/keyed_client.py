"""Clients with keys of their own at a simulated node without keys."""

from typing import Any

from mesh.kernel.context.conn import CLIENT
from mesh.wire import commands as c
from tests.simulated_client import SimClient
from tests.simulation import SimNode


class Keyed(SimClient):
    """A client with a public CURVE key, for which ZeroMQ vouches, and with the role of its token."""

    def __init__(self, node: SimNode, user: str, name: str, grant: str = CLIENT, **options: Any) -> None:
        self.node, self.user, self.grant = node, user, grant
        super().__init__(node.net, node.ipc, name, **options)
        self.connected()

    def enter(self, w: c.Welcome) -> None:
        core = self.node.core
        conn = core.parts.clients.sessions[self.stream].conn
        assert conn is not None
        conn.user, conn.grant = self.user, self.grant
        core.parts.clients.sessions[self.stream].user = self.user
        super().enter(w)

    def opens(self) -> str:
        """Open the inbox, and return the code of the refusal or an empty text."""
        call = self.ask(lambda request: c.Subscribe(request, 0, c.Query("inbox", "")))
        self.net.until(lambda: call.reply)
        assert call.reply is not None
        return call.reply.code
