"""Facts about served names and group members."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.kernel.context.facts import Fact


@dataclass(frozen=True, slots=True)
class ServersChanged(Fact):
    """The number of servers of a name here, or of a watched name at another node, has changed.

    A change of 0 means that only the node's note about the servers has changed.
    """

    kind: str
    name: str
    uuid: bytes  # of that node
    change: int  # servers more, or fewer if negative


@dataclass(frozen=True, slots=True)
class GroupChanged(Fact):
    """The number of members of a group at a node has changed."""

    name: str
    uuid: bytes  # of that node
    members: int  # the new number


@dataclass(frozen=True, slots=True)
class RequestAnswered(Fact):
    """Answers or replies for senders at this node, or at another site, wait in `ReplyBatch.here`."""
