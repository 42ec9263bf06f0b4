"""What becomes of sessions, also of those that two programs want."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.desk.conn import Conn
from mesh.core.desk.facts import Fact
from mesh.core.subscribers.session import Session
from mesh.wire.commands import Hello, Refuse


@dataclass(frozen=True, slots=True)
class HolderLives(Fact):
    """The program that has the session answers: whoever said HELLO for it too is refused."""

    conn: Conn
    hello: Hello
    refusal: Refuse


@dataclass(frozen=True, slots=True)
class HolderGone(Fact):
    """The program that had the session is gone: the HELLO of whoever waits counts as if it had just come."""

    conn: Conn
    hello: Hello


@dataclass(frozen=True, slots=True)
class SessionBack(Fact):
    """A session has a connection, a first one or a new one."""

    session: Session


@dataclass(frozen=True, slots=True)
class SessionAway(Fact):
    """A session has no connection any more, or is closed."""

    session: Session


@dataclass(frozen=True, slots=True)
class SessionCutOff(Fact):
    """A session held more than it may: what can be given up of that is."""

    session: Session


@dataclass(frozen=True, slots=True)
class SessionClosed(Fact):
    """A session will not come back."""

    session: Session


@dataclass(frozen=True, slots=True)
class MissedFromSite(Fact):
    """Another site had no room for so many messages that were for this one. `neighbour` reports it: they are
    of that site, or of one that is reached by it.
    """

    neighbour: str
    messages: int
