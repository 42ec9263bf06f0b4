"""Finds the node of a client to which another site writes without naming a node."""

# Law 1: of several nodes with sessions of the client, the first by name is chosen, so gateways agree.
# Law 2: a message is decided only by an answer that is at most FOUND or NOWHERE seconds old.

from __future__ import annotations

from collections.abc import Callable

from mesh.flow.bounded import Bounded
from mesh.kernel.context.node_context import NodeContext
from mesh.names import SessionName
from mesh.wire.replies import ClientRows

FOUND = 5.0  # s for which a node is used
NOWHERE = 1.0  # s for which a client counts as not connected
REMEMBERED = 1024  # clients
ASKED = 64  # clients that are looked up at a time

Find = Callable[[str, Callable[[ClientRows], None]], None]


class ClientLocator:
    """The nodes of the clients that were looked up lately.

    `find` asks all nodes for the sessions that an XPath selects, and passes them to a function.
    """

    def __init__(self, context: NodeContext, find: Find) -> None:
        self._context = context
        self._find = find
        self._known = Bounded[str, tuple[str, float]](REMEMBERED)  # node or "", and until when
        self._asking: set[str] = set()

    def node_of(self, name: SessionName) -> str | None:
        """Return the node at which the client or session is connected, or "" if it is connected nowhere.

        None means that the nodes are being asked: the caller tries again later.
        """
        client = str(SessionName(name.client, name.session))
        node, until = self._known.get(client, ("", 0.0))
        if until > self._context.clock.now:
            return node
        if client not in self._asking and len(self._asking) < ASKED:
            self._asking.add(client)
            self._find(xpath_of(name), lambda rows: self._found(client, rows))
            node, until = self._known.get(client, ("", 0.0))
        return node if until > self._context.clock.now else None  # alone, this node has answered already

    def _found(self, client: str, rows: ClientRows) -> None:
        self._asking.discard(client)
        nodes = sorted(filter(None, (SessionName.parse(each).node for each in rows.clients)))
        node = nodes[0] if nodes else ""
        self._known.keep(client, (node, self._context.clock.now + (FOUND if node else NOWHERE)))


def xpath_of(name: SessionName) -> str:
    """Return the XPath for the session, or for the sessions of a client whose name was chosen."""
    which = "@named" if name.session is None else f"@session='{name.session}'"
    return f"//client[@name='{name.client}' and {which}]"
