"""What happens to those who serve something."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.desk.facts import Fact


@dataclass(frozen=True, slots=True)
class ServersChanged(Fact):
    """Somebody, or more of them, or fewer, serve what is served here, or watched at another node; or no more
    and no fewer, but a node says something new of them.
    """

    kind: str
    name: str
    uuid: bytes  # of that node
    change: int  # so many more, or fewer


@dataclass(frozen=True, slots=True)
class GroupChanged(Fact):
    """A group of subscribers has other members at a node than before."""

    name: str
    uuid: bytes  # of that node
    members: int  # by now
