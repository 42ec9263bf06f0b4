"""Facts about sessions, and about gaps that other sites cause."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Fact
from mesh.kernel.peers.peer import Peer
from mesh.kernel.subscribers.session import Session
from mesh.wire.commands import Certificate, Hello, Refuse


@dataclass(frozen=True, slots=True)
class HolderLives(Fact):
    """The holder of a session answered or may be busy, so another client's HELLO is refused."""

    conn: Conn
    hello: Hello
    refusal: Refuse


@dataclass(frozen=True, slots=True)
class HolderGone(Fact):
    """The holder of a session left or was lost, so a waiting HELLO is handled as if it had just arrived."""

    conn: Conn
    hello: Hello


@dataclass(frozen=True, slots=True)
class SessionBack(Fact):
    """A session has a new connection, which may be its first."""

    session: Session


@dataclass(frozen=True, slots=True)
class SessionAway(Fact):
    """A session lost its connection, a new connection replaces the old one, or the session was closed."""

    session: Session


@dataclass(frozen=True, slots=True)
class SessionCutOff(Fact):
    """A session was disconnected for its memory use, so components free the memory that they hold for it."""

    session: Session


@dataclass(frozen=True, slots=True)
class SessionClosed(Fact):
    """A session was closed for good; `is_bye`: its client resends nothing."""

    session: Session
    is_bye: bool = False


@dataclass(frozen=True, slots=True)
class SessionArrived(Fact):
    """A certificate proved that a session which was at another node is at this one."""

    session: Session


@dataclass(frozen=True, slots=True)
class SessionMoved(Fact):
    """A newer certificate proves that a session is at another node than this one."""

    certificate: Certificate


@dataclass(frozen=True, slots=True)
class SessionBehind(Fact):
    """A newer certificate proves that a session is at `peer`, or at a node behind it."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class ResumeChanged(Fact):
    """A master has pinned its log for a visiting session, or fewer masters are left to do so."""

    session: Session


@dataclass(frozen=True, slots=True)
class ResumeEnded(Fact):
    """A subscription ended during its resume from the logs of `masters`."""

    session: Session
    masters: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class SubscriptionsKnown(Fact):
    """The node of a session has named all its open subscriptions, which a certificate allows it."""

    certificate: Certificate
    subscriptions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MissedFromSite(Fact):
    """Another site dropped messages for this site.

    The neighbor site `neighbour` reported the loss. The messages came from that site, or from a site whose
    messages it relays.
    """

    neighbour: str
    messages: int
