"""The effects that a client's core requests from its shell, to be executed in order."""

from __future__ import annotations

from msgspec import Struct

from mesh.client.access import Access
from mesh.client.core.known_nodes import KnownNode
from mesh.wire.commands import Command
from mesh.wire.envelope import Envelope


class Find(Struct, frozen=True, gc=False):
    """Search for a node. The shell passes the result to `found` or `not_found`.

    `place` is the address or name of the node; "" is the first node that the user named, or the default.
    `site` is another site than the client's own one, whose keys the node requires.
    """

    place: str = ""
    site: str = ""


class SaveNodes(Struct, frozen=True, gc=False):
    """Add nodes to the saved list of a mesh. With `has_own`, the first one has accepted the client."""

    cluster: str
    nodes: tuple[KnownNode, ...]
    has_own: bool


class Browse(Struct, frozen=True, gc=False):
    """Search for nodes by multicast DNS. The shell passes the result to `on_browsed`."""


class DialNode(Struct, frozen=True, gc=False):
    """Open a connection with the number `key`."""

    key: int
    access: Access


class SendCommand(Struct, frozen=True, gc=False):
    """Send a command and its envelopes on the connection `key`."""

    key: int
    command: Command
    envelopes: tuple[Envelope, ...] = ()


class CloseConnection(Struct, frozen=True, gc=False):
    """Close the connection `key`."""

    key: int


class Report(Struct, frozen=True, gc=False):
    """Report an event: its `kind` is one of `mesh.client.events.KINDS`, or "closed" at the end."""

    kind: str
    text: str
    resumed: bool | None = None


ClientEffect = Find | Browse | SaveNodes | DialNode | SendCommand | CloseConnection | Report
