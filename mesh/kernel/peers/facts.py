"""Facts about other nodes and connections with them."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.discovery.membership import (
    Conflict,
    Dead,
    Joined,
    Left,
    Moved,
    Restarted,
    Suspected,
    SuspicionRefuted,
)
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.effects import Stop
from mesh.kernel.context.facts import Fact, Trace
from mesh.kernel.peers.peer import Peer


@dataclass(frozen=True, slots=True)
class Dialled(Fact):
    """A connection was dialed, and nothing was sent on it yet."""

    conn: Conn


@dataclass(frozen=True, slots=True)
class SeedEnded(Fact):
    """A connection to a configured, added or remembered address ended, before or after an answer."""

    conn: Conn


Lived = Joined | Restarted | Moved | Suspected | SuspicionRefuted | Dead | Left | Conflict


@dataclass(frozen=True, slots=True)
class ViewChanged(Trace):
    """A change in this node's view of another one."""

    event: Lived


@dataclass(frozen=True, slots=True)
class PeerJoined(Fact):
    """A peer became reachable, or restarted."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class PeerLost(Fact):
    """The peer, in the given boot, can no longer be asked."""

    peer: Peer
    boot: int


@dataclass(frozen=True, slots=True)
class PeerLoggedOff(Fact):
    """A peer stops, and wants nothing of what this node holds for it."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class PeerForgotten(Fact):
    """A peer was forgotten: membership no longer knows the node, and nothing is owed to it."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class GivenUp(Fact):
    """A user removed a node that is down, so the node will not return with its state."""

    uuid: bytes


@dataclass(frozen=True, slots=True)
class RoutesChanged(Fact):
    """The next hops of messages or questions may have changed.

    This fact follows the facts that cause it.
    """


@dataclass(frozen=True, slots=True)
class AddressesChanged(Fact):
    """The advertised addresses of this node have changed."""


@dataclass(frozen=True, slots=True)
class PeerConnected(Fact):
    """The control connection of a peer is open."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class LoggedIn(Fact):
    """The data connection of a peer is open."""

    peer: Peer
    conn: Conn


@dataclass(frozen=True, slots=True)
class LoggedOut(Fact):
    """The data connection of a peer ended, could not be dialed, or is being replaced."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class LoginRefused(Fact):
    """The name or identity of this young node is taken, so the node stops unless a peer is alive.

    `stop` contains the reason.
    """

    stop: Stop
