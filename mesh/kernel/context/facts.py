"""Facts: frozen values that components record for the components above them."""

# Rule 1: a fact is handled later. What the recording component needs immediately is passed as an argument.
# Rule 2: facts are handled in the order of their recording, after the event and before anything is sent.
# Facts of `publish_last` come after all others.
# Rule 3: the handler of a fact may record further facts; they are appended.
# Rule 4: on the path of an envelope there are only traces, which cost nothing unless they are watched.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from mesh.kernel.context.conn import Conn
from mesh.wire.commands import Introduction
from mesh.wire.replies import ViewRow


@dataclass(frozen=True, slots=True)
class Fact:
    """Base class of the facts that components record."""


@dataclass(frozen=True, slots=True)
class Trace(Fact):
    """A fact for observers of a node, recorded only if `context.facts.watched`."""


@dataclass(frozen=True, slots=True)
class EventOccurred(Fact):
    """An event for operators; `who` is the node that it concerns, if any.

    `view` has the data of an event of the kind "view".
    """

    kind: str
    text: str
    who: Introduction | None
    wall: int  # ns since 1970
    view: ViewRow | None = None


@dataclass(frozen=True, slots=True)
class ProtocolBroken(Trace):
    """A connection was closed for an invalid command; `who` is the node at its other end, if any."""

    who: Introduction | None
    code: str


@dataclass(frozen=True, slots=True)
class SettingsRead(Fact):
    """The settings were read again, and changes that need no restart are in effect."""


@dataclass(frozen=True, slots=True)
class BackupChanged(Fact):
    """A copy of the stores begins, or has ended."""

    is_begun: bool


@dataclass(frozen=True, slots=True)
class LeavingChanged(Fact):
    """A drain of this node began, reached another step, or was canceled; see `NodeContext.leaving`."""


@dataclass(frozen=True, slots=True)
class ConnEnded(Fact):
    """A connection of any kind ended."""

    conn: Conn


@dataclass(frozen=True, slots=True)
class InboundClosed(Fact):
    """An inbound connection closed.

    The transport does not know which one it was; sending on it fails.
    """


F = TypeVar("F", bound=Fact)
FactHandler = Callable[[Any], None]
Hearing = tuple[type[Fact], FactHandler]


def on_fact(fact: type[F], then: Callable[[F], None]) -> Hearing:
    """Return the handler entry of a component for a class of facts."""
    return fact, then
