"""Questions about locks."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from mesh.discovery.state import Natural
from mesh.wire.calls.ask import Carried
from mesh.wire.calls.spaces import SpaceKey, SpaceName
from mesh.wire.limits import KIB

ELECTED = 16 * KIB  # bytes of the value of an election
RENEWED = 1000  # locks of one renewal

Number = Annotated[int, Meta(ge=1, le=2**53)]
Writer = Annotated[bytes, Meta(min_length=32, max_length=32)]
Signature = Annotated[bytes, Meta(max_length=64)]
Name = Annotated[str, Meta(max_length=255)]


class AskLock(Carried, frozen=True, kw_only=True):
    """Request a lock from the home of its space. Nodes pass the question on to the home.

    A question that is repeated with the same number means the same request.

    Attributes:
        space: Name of the space, such as `lock/default`.
        key: Name of the lock.
        number: Number of the request: 1, 2, 3, … for each space and client.
        count: Number of the question: 1, 2, 3, … for each space and client, renewals included.
        lease: Lease in ms.
        hold: Longest time in ms until the answer, unless the lock is granted earlier.
        can_wait: Whether the request waits for its turn if the lock is not free.
        client: Name of the client, for display.
        is_election: Whether the lock has a value while it is held.
        content: Value of an election.
        props: Its encoded properties.
        since: Time of the first request, from the last answer. 0: this is the first.
        ticket: MAC of `since`, from the last answer.
        writer: Public Ed25519 key of the client's stream.
        signature: Its signature of "heronry lock" and the fields above in MessagePack.
    """

    verb = "lock_ask"
    space: SpaceName
    key: SpaceKey
    number: Number
    count: Number
    lease: Natural
    hold: Natural = 0
    can_wait: bool = True
    client: Name = ""
    is_election: bool = False
    content: Annotated[bytes, Meta(max_length=ELECTED)] = b""
    props: Annotated[bytes, Meta(max_length=4 * KIB)] = b""
    since: Natural = 0
    ticket: Annotated[bytes, Meta(max_length=32)] = b""
    writer: Writer
    signature: Signature = b""


class AskLockRenew(Carried, frozen=True, kw_only=True):
    """Begin the leases of locks anew.

    Attributes:
        space: Name of the space.
        held: Name and token of each lock.
        count: Number of the question, as for `lock_ask`.
        writer: Public Ed25519 key of the client's stream.
        signature: Its signature of "heronry renew" and the fields above in MessagePack.
    """

    verb = "lock_renew"
    space: SpaceName
    held: Annotated[list[tuple[SpaceKey, Natural]], Meta(max_length=RENEWED)]
    count: Number
    writer: Writer
    signature: Signature = b""


class AskLockRelease(Carried, frozen=True, kw_only=True):
    """End a request for a lock, whether it waits or holds the lock.

    Attributes:
        space: Name of the space.
        key: Name of the lock.
        number: Number of the request.
        writer: Public Ed25519 key of the client's stream.
        signature: Its signature of "heronry release" and the fields above in MessagePack.
    """

    verb = "lock_release"
    space: SpaceName
    key: SpaceKey
    number: Number
    writer: Writer
    signature: Signature = b""


class AskLocks(Carried, frozen=True, kw_only=True):
    """Return the held locks of a space from its home.

    Attributes:
        space: Name of the space.
        key: Name of the lock. Empty: all held locks, in pages.
        after: Name after which a page begins.
        limit: Highest number of locks in a page. 0: as many as fit.
    """

    verb = "lock_ls"
    space: SpaceName
    key: SpaceKey = ""
    after: SpaceKey = ""
    limit: Natural = 0
