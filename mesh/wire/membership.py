"""Membership and states of nodes."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from mesh.discovery.state import Natural
from mesh.values import LONGEST_DOMAIN
from mesh.wire.command import Command, command
from mesh.wire.handshake import Introduction
from mesh.wire.limits import FOLLOWED, FRAME, HOPS, STRATA


class Rumour(msgspec.Struct, frozen=True, array_like=True):
    """A claim about the state of a node.

    Attributes:
        node: The node.
        incarnation: Number that only the node itself raises, to refute a rumor.
        state: `"alive"`, `"suspect"`, `"dead"` or `"left"`.
        by: Id of the node that made the claim first.
    """

    node: Introduction
    incarnation: Natural
    state: str
    by: bytes = b""


@command
class Probe(Command, frozen=True, tag=11):
    """Direct probe of a node.

    Attributes:
        number: Number of the probe; PROBED repeats it.
        uuid: Id of the probed node.
        boot: Its boot.
        rumours: Rumors for the receiver.
    """

    number: Natural
    uuid: bytes
    boot: Natural
    rumours: tuple[Rumour, ...] = ()


@command
class ProbeFor(Command, frozen=True, tag=12):
    """Request to probe another node.

    Attributes:
        number: Number of the probe; PROBED repeats it.
        node: The node to probe.
        rumours: Rumors for the receiver.
    """

    number: Natural
    node: Introduction
    rumours: tuple[Rumour, ...] = ()


@command
class Probed(Command, frozen=True, tag=13):
    """Reply to PROBE or PROBEFOR.

    Attributes:
        number: Number of the probe.
        lives: Whether the probed node answered. To PROBE, `false` means that the sender has another id or
            boot.
        rumours: Rumors for the receiver.
    """

    number: Natural
    lives: bool = True
    rumours: tuple[Rumour, ...] = ()


@command
class Rumours(Command, frozen=True, tag=14):
    """Rumors that do not wait for the next probe.

    Attributes:
        rumours: The rumors.
    """

    limit: ClassVar[int] = FRAME

    rumours: tuple[Rumour, ...]


@command
class Census(Command, frozen=True, tag=17):
    """Request for RUMOURS about nodes that count as alive.

    RUMOURS with at most 1,000 nodes each follow.

    Attributes:
        uuids: Ids of the nodes. Empty: all.
    """

    uuids: tuple[bytes, ...] = ()


@command
class States(Command, frozen=True, tag=15):
    """Gossip for a node that does not receive the PUB socket.

    Attributes:
        gossip: An encoded StateMessage.
    """

    limit: ClassVar[int] = FRAME

    gossip: bytes


@command
class Hear(Command, frozen=True, tag=16):
    """Start or stop of STATES on this link.

    Attributes:
        wanted: Whether the sender needs STATES.
    """

    wanted: bool


@command
class Follow(Command, frozen=True, tag=70):
    """The domains for which the sender wants to know strata. The list replaces the previous one.

    Strata are shown to users; no routing depends on them.

    Attributes:
        domains: Names of domains. `"*"`: any domain that no rule names.
    """

    word: ClassVar[str] = STRATA
    limit: ClassVar[int] = FRAME

    domains: Annotated[
        tuple[Annotated[str, Meta(max_length=LONGEST_DOMAIN)], ...], Meta(max_length=FOLLOWED)
    ] = ()


class Stratum(msgspec.Struct, frozen=True, array_like=True):
    """The route of a node to the master of a domain.

    Attributes:
        domain: Name of the domain.
        way: Names of nodes: the sender first, the master last. Empty: there is no route. `"?"`: a node of an
            older release.
        latency: Latency of a message on this route, in µs.
        masters: Number of masters and backups. 0: unknown.
    """

    domain: Annotated[str, Meta(max_length=LONGEST_DOMAIN)]
    way: Annotated[tuple[Annotated[str, Meta(max_length=64)], ...], Meta(max_length=HOPS)] = ()
    latency: Natural = 0
    masters: Natural = 0


@command
class Strata(Command, frozen=True, tag=71):
    """Strata of the domains in FOLLOW, immediately and after each change.

    Attributes:
        number: Number that grows. An older one is ignored.
        rows: One row for each domain.
    """

    word: ClassVar[str] = STRATA
    limit: ClassVar[int] = FRAME

    number: Natural
    rows: Annotated[tuple[Stratum, ...], Meta(max_length=FOLLOWED)] = ()
