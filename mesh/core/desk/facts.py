"""What has happened in a node? Facts are frozen values that a part says, for those that stand above it."""

# Rule 1: a fact is for those who come later. What the next line of who says it needs is an argument.
# Rule 2: facts are heard in their order, when the event at hand is over and before anything is sent.
# Rule 3: who hears a fact may say others: they come behind those that were said before.
# Rule 4: on the path of an envelope there are traces only, which cost nothing where nobody watches.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from mesh.core.desk.conn import Conn
from mesh.wire.commands import Introduction


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that has happened."""


@dataclass(frozen=True, slots=True)
class Trace(Fact):
    """Something that only those who watch a node want to know. It is said behind `if desk.watched`."""


@dataclass(frozen=True, slots=True)
class Happened(Fact):
    """Something that people may want to read about later; `who`: the node to which it happened, if to one."""

    kind: str
    text: str
    who: Introduction | None
    wall: int  # ns since 1970


@dataclass(frozen=True, slots=True)
class ProtocolBroken(Trace):
    """A connection was closed for what was said on it; `who`: the node that it is to, if it is to one."""

    who: Introduction | None
    code: str


@dataclass(frozen=True, slots=True)
class SettingsRead(Fact):
    """The settings were read again, and what of them may change while a node runs stands in the desk's."""


@dataclass(frozen=True, slots=True)
class ConnEnded(Fact):
    """A connection is over, to whomever it was."""

    conn: Conn


@dataclass(frozen=True, slots=True)
class SomebodyLeft(Fact):
    """The end of one who had dialled us; the transport cannot say who: what is said to him fails."""


F = TypeVar("F", bound=Fact)
FactHandler = Callable[[Any], None]
Hearing = tuple[type[Fact], FactHandler]


def hear(fact: type[F], then: Callable[[F], None]) -> Hearing:
    """A part's wish to be told of facts of that kind."""
    return fact, then
