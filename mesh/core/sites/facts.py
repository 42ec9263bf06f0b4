"""What happens to connections with other sites."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.desk.facts import Fact
from mesh.wire.commands import Outcome


@dataclass(frozen=True, slots=True)
class PauseChanged(Fact):
    """Another site is to be given nothing for now, or is so no more."""

    site: str


@dataclass(frozen=True, slots=True)
class GateChanged(Fact):
    """A gateway of another site has come or gone here. `is_less`: what was under way there may be lost."""

    site: str
    is_less: bool


@dataclass(frozen=True, slots=True)
class ReachChanged(Fact):
    """A gateway of a neighbour says that it reaches a third site, or no more: then what was under way there
    may be lost.
    """

    site: str
    is_less: bool


@dataclass(frozen=True, slots=True)
class ExitsChanged(Fact):
    """Other gateways of this site are linked with that one, or by other connections. `lost`: by these, what
    was under way may be.
    """

    site: str
    lost: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class SiteAnswered(Fact):
    """Another site has said what became of what this node, as a master, keeps for it. `by`: the uuid of the
    gateway of ours that says so.
    """

    site: str
    outcomes: tuple[Outcome, ...]
    by: bytes
