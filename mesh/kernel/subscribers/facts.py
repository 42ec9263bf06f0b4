"""Facts about sessions, and about gaps that other sites cause."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Fact
from mesh.kernel.subscribers.session import Session
from mesh.wire.commands import Hello, Refuse


@dataclass(frozen=True, slots=True)
class HolderLives(Fact):
    """The holder of a session answered: the other client that sent HELLO for it is refused."""

    conn: Conn
    hello: Hello
    refusal: Refuse


@dataclass(frozen=True, slots=True)
class HolderGone(Fact):
    """The holder of a session is lost: the waiting HELLO counts as if it had just arrived."""

    conn: Conn
    hello: Hello


@dataclass(frozen=True, slots=True)
class SessionBack(Fact):
    """A session has a connection, its first or a new one."""

    session: Session


@dataclass(frozen=True, slots=True)
class SessionAway(Fact):
    """A session lost its connection or was closed."""

    session: Session


@dataclass(frozen=True, slots=True)
class SessionCutOff(Fact):
    """A session used too much memory, and components free what they keep for it."""

    session: Session


@dataclass(frozen=True, slots=True)
class SessionClosed(Fact):
    """A session was closed for good."""

    session: Session


@dataclass(frozen=True, slots=True)
class MissedFromSite(Fact):
    """Messages for this site were dropped by another one.

    `neighbour` reported it; the messages come from that site, or from a site behind it.
    """

    neighbour: str
    messages: int
