"""What happens to other nodes, and to connections with them."""

from __future__ import annotations

from dataclasses import dataclass

from discovery.membership import Conflict, Dead, Joined, Left, Moved, Restarted, Suspected, Trusted
from mesh.core.desk.conn import Conn
from mesh.core.desk.effects import Stop
from mesh.core.desk.facts import Fact, Trace
from mesh.core.peers.peer import Peer


@dataclass(frozen=True, slots=True)
class Dialled(Fact):
    """A connection was begun by us, and nothing has been said on it."""

    conn: Conn


@dataclass(frozen=True, slots=True)
class SeedEnded(Fact):
    """A connection to an address that somebody gave us is gone, before or after an answer."""

    conn: Conn


Lived = Joined | Restarted | Moved | Suspected | Trusted | Dead | Left | Conflict


@dataclass(frozen=True, slots=True)
class ViewChanged(Trace):
    """A change in what this node believes of another one."""

    event: Lived


@dataclass(frozen=True, slots=True)
class PeerJoined(Fact):
    """A peer can be asked something, or is another process now."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class PeerLost(Fact):
    """A peer can be asked nothing more, in that boot."""

    peer: Peer
    boot: int


@dataclass(frozen=True, slots=True)
class PeerForgotten(Fact):
    """A peer is remembered no more: nothing is owed to it, and nobody knows where it is."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class GivenUp(Fact):
    """A node that is not there, and that people have said to forget: it will not come back as it was."""

    uuid: bytes


@dataclass(frozen=True, slots=True)
class WaysChanged(Fact):
    """A change in whom messages and questions go to, perhaps. Said after all that has caused it."""


@dataclass(frozen=True, slots=True)
class PeerConnected(Fact):
    """The control connection of a peer stands."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class LoggedIn(Fact):
    """The data connection of a peer stands."""

    peer: Peer
    conn: Conn


@dataclass(frozen=True, slots=True)
class LoggedOut(Fact):
    """The data connection of a peer is gone."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class Unwelcome(Fact):
    """A refusal to let us in; `stop` says why this node should end."""

    stop: Stop
