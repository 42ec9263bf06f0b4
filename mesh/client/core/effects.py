"""What a client wants done by its shell, in this order."""

from __future__ import annotations

from msgspec import Struct

from mesh.client.access import Access
from mesh.wire.commands import Command
from mesh.wire.envelope import Envelope


class Find(Struct, frozen=True, gc=False):
    """A question: where is the node? The answer goes to `found` or `not_found`."""


class DialNode(Struct, frozen=True, gc=False):
    """A new connection, which is called `key` from now on."""

    key: int
    access: Access


class SendCommand(Struct, frozen=True, gc=False):
    """A command, and the envelopes that go with it, on that connection."""

    key: int
    command: Command
    envelopes: tuple[Envelope, ...] = ()


class CloseConnection(Struct, frozen=True, gc=False):
    """Nothing more of that connection."""

    key: int


class Report(Struct, frozen=True, gc=False):
    """An event for the user; the kinds are those of `mesh.client.connected.Event`."""

    kind: str
    text: str


ClientEffect = Find | DialNode | SendCommand | CloseConnection | Report
