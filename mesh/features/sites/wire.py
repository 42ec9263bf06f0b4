"""Messages between sites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from msgspec import Meta

from mesh.discovery.state import Natural
from mesh.wire.command import Command, command
from mesh.wire.header import U32
from mesh.wire.limits import CHAINS, FRAME, SITE_NODES, SITES
from mesh.wire.publishing import Outcome

NodeName = Annotated[str, Meta(min_length=1, max_length=64)]

# The name of a node, and its uuid if it is a gateway.
SiteNode = tuple[NodeName, Annotated[bytes, Meta(max_length=16)]]


@command
class Site(Command, frozen=True, tag=60):
    """The nodes of the sender's site. The list replaces the previous one.

    Both ends send it first on each connection, and again after changes, at most once a second. After the
    handshake, a gateway may send only SITE, RELAY, RELAYED, BEHIND, SENDS, SENT, RESPOND, PING, BYE, WHO,
    PIECE, PIECEACK and UNKNOWN.

    Attributes:
        name: Name of that site.
        nodes: Name of each node that is alive, and its id if it is a gateway.
        leaving: Whether the site shuts down.
    """

    word: ClassVar[str] = SITES
    limit: ClassVar[int] = FRAME

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    nodes: Annotated[tuple[SiteNode, ...], Meta(max_length=SITE_NODES)] = ()
    leaving: bool = False


@command
class Relay(Command, frozen=True, tag=61):
    """Envelopes for another site.

    The master of a message keeps it until that site has answered; gateways store nothing. `sender` begins
    with `/site/NAME`, hops are `site:NAME/NODE`, and only the flags 1, 4 and 8 remain. A stream gets another
    id in each site.

    Attributes:
        site: Name of the site.
        frames: As in PUBLISH.
        dropped: Number of messages for that site that were dropped before these for lack of space.
    """

    word: ClassVar[str] = SITES

    site: Annotated[str, Meta(min_length=1, max_length=64)]
    frames: tuple[Natural, ...]
    dropped: U32 = 0

    def frame_counts(self) -> Sequence[int]:
        return self.frames


@command
class Relayed(Command, frozen=True, tag=62):
    """Answers of another site.

    For published messages `CLOCK_AHEAD`, `TAILBACK_FULL`, `STORE_FULL`, `STORE`, `INBOX_FULL` and
    `SITE_UNREACHABLE` are not final, nor is `EXPIRED` without an expiry time. For direct messages `WAY_LOST`
    is not final. The node that keeps the message resends after 0.25 s, doubled up to 60 s.

    Attributes:
        site: Name of the site that answers.
        outcomes: The answers, by the streams of RELAY.
    """

    word: ClassVar[str] = SITES
    limit: ClassVar[int] = FRAME

    site: Annotated[str, Meta(min_length=1, max_length=64)]
    outcomes: tuple[Outcome, ...]


@command
class Behind(Command, frozen=True, tag=63):
    """State of a site that the receiver reaches through the sender's site. Replaces the previous state.

    Attributes:
        name: Name of the site.
        state: `"up"`, `"down"`, `"paused"` or `"unreachable"`. Any other text counts as `"unreachable"`.
        nodes: Names of its nodes that are alive.
    """

    word: ClassVar[str] = CHAINS

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    state: Annotated[str, Meta(max_length=16)] = "unreachable"
    nodes: Annotated[tuple[NodeName, ...], Meta(max_length=SITE_NODES)] = ()
