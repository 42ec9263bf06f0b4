"""Commands about consumers of addresses, groups and queues, and about their messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from mesh.discovery.state import Natural
from mesh.errors import RemoteError
from mesh.wire.codec import pack, reader
from mesh.wire.command import Checks, Command, command
from mesh.wire.counts import check_held, check_settled
from mesh.wire.header import U32, FromOne
from mesh.wire.limits import (
    ADDRESS_CREDIT,
    CALL_FRAME,
    ENVELOPE_MESSAGES,
    FRAME,
    NOTE,
    QUEUE_CREDIT,
    REASON,
    SELECTOR,
    SERVICES,
)
from mesh.wire.publishing import Outcome

NUMBERED = 100  # consumers of an address at a node, above which their sequence numbers are not listed
NACK, REJECT, EXTEND = 1, 2, 3  # settlements of a queued message, besides acks


@command
class Watch(Command, frozen=True, tag=41):
    """The names whose consumers the sender wants to know.

    Between nodes each part has at most 512 names. A node watches a name until no client has used it for 60 s.

    Attributes:
        version: Number that grows with each change.
        full: Whether this replaces everything sent before.
        more: Whether another part of the same version follows.
        add: New names: `["address", ADDRESS]`; between nodes also `["queue", NAME]`.
        remove: Names that are no longer watched.
    """

    word: ClassVar[str] = SERVICES
    limit: ClassVar[int] = FRAME

    version: Natural
    full: bool
    more: bool = False
    add: tuple[tuple[str, str], ...] = ()
    remove: tuple[tuple[str, str], ...] = ()


class Row(msgspec.Struct, frozen=True, array_like=True):
    """The consumers of a name at one node.

    Attributes:
        kind: `"address"`; between nodes also `"queue"` or `"site"`.
        name: The name.
        consumers: Number of consumers for messages from any node.
        node: To a client: name of the node.
        uuid: To a client: id of the node.
        boot: To a client: boot of the node.
        note: Of an address: the sequence numbers of the consumers, as a msgpack array of at most 100
            ascending integers; empty if there are more. Between nodes: of a queue its encoded QueueReport, of
            a site 8 bytes that change when a connection is lost.
    """

    kind: str
    name: str
    consumers: Natural
    node: str = ""
    uuid: bytes = b""
    boot: Natural = 0
    note: Annotated[bytes, Meta(max_length=NOTE)] = b""


_read_numbers = reader(tuple[U32, ...], NOTE)


def pack_numbers(numbers: Sequence[int]) -> bytes:
    """Return the note with the sequence numbers of an address's consumers; empty if they are too many."""
    return pack(sorted(numbers)) if 0 < len(numbers) <= NUMBERED else b""


def read_numbers(note: bytes) -> tuple[int, ...]:
    """Return the sequence numbers in the note about an address; none if the note is empty or invalid."""
    try:
        return _read_numbers(note)[:NUMBERED] if note else ()
    except RemoteError:
        return ()


@command
class Serving(Command, frozen=True, tag=40):
    """Consumers of watched names, sent immediately and after each change.

    Attributes:
        number: Number of this command: 1, 2, 3, … on each connection.
        knows: Highest version of WATCH that was received whole. -1: none.
        rows: All rows of each name that changed. They replace the earlier ones. A row of 0 consumers without
            a node: the name has no consumer.
    """

    word: ClassVar[str] = SERVICES
    limit: ClassVar[int] = FRAME

    number: Natural
    knows: int
    rows: tuple[Row, ...] = ()


@command
class Members(Command, frozen=True, tag=45):
    """Number of members of subscriber groups at the sender.

    Sent to all nodes with the feature, at most 100 groups in one command and 10,000 of a node.

    Attributes:
        number: Number of this command: 1, 2, 3, … on each connection.
        groups: Name of each group, as in CONSUME, and its members.
    """

    word: ClassVar[str] = SERVICES
    limit: ClassVar[int] = FRAME

    number: Natural
    groups: tuple[tuple[str, Natural], ...] = ()


@command
class Heard(Command, frozen=True, tag=46):
    """Confirmation of MEMBERS.

    Attributes:
        number: Number of the last MEMBERS received.
    """

    word: ClassVar[str] = SERVICES

    number: Natural


@command
class Sends(Command, frozen=True, tag=42):
    """Envelopes for addresses that are served at the receiver.

    They are sent directly from the node of the client to the serving node, and never forwarded or resent.
    Only 512 and 4096 are allowed as flags.

    Attributes:
        frames: As in PUBLISH.
        ttls: As in PUBLISH.
    """

    word: ClassVar[str] = SERVICES

    frames: tuple[Natural, ...]
    ttls: tuple[U32, ...] = ()

    def frame_counts(self) -> Sequence[int]:
        return self.frames


@command
class Sent(Command, frozen=True, tag=43):
    """Answers to SENDS.

    With flag 512 the answer is immediate, and `matched` is the number of servers.

    Attributes:
        outcomes: The answers.
    """

    word: ClassVar[str] = SERVICES
    limit: ClassVar[int] = FRAME

    outcomes: tuple[Outcome, ...]


@command
class Respond(Command, frozen=True, tag=44):
    """Replies for clients of the receiver.

    `to` is the `sender` of the request. A master sends messages for subscriber groups in the same command,
    with the group in `to`.

    Attributes:
        frames: As in PUBLISH.
    """

    word: ClassVar[str] = SERVICES

    frames: tuple[Natural, ...]

    def frame_counts(self) -> Sequence[int]:
        return self.frames


# Messages of a queue that a client still has: a stream, and ranges of its numbers (first, last, ...).
Held = tuple[
    Annotated[bytes, Meta(min_length=16, max_length=16)],
    Annotated[tuple[FromOne, ...], Meta(max_length=2 * QUEUE_CREDIT)],
]


# First tag, last tag, outcome (NACK, REJECT or EXTEND), delay in ms, reason.
Settled = tuple[
    U32, U32, Annotated[int, Meta(ge=NACK, le=EXTEND)], U32, Annotated[str, Meta(max_length=REASON)]
]


@command
class Consume(Command, frozen=True, tag=50):
    """Start, change or end of consuming from an address, a group or a queue.

    Of several consumers of an address the one with the fewest outstanding messages comes first.

    Attributes:
        request: Number of the request; REPLY repeats it.
        subscription: Number from 1 to 2³²-2, used for nothing else and kept across reconnects.
        address: An address; or a group: its name, a domain and a pattern, separated by line feeds; or
            `queue/NAME`.
        credit: Limit of outstanding messages, at most 10,000, of a queue 1,000. 0: stop.
        local_only: Whether to receive only messages of clients of this node. Other nodes do not see such a
            consumer.
        begun: With credit 0: the last delivery tag that was begun. Later ones go to other consumers.
        selector: Of a queue: selector for its messages. `""`: all.
        lease: Of a queue: ms after which an outstanding message goes to another consumer. 0: never.
        held: Of a queue: messages that this client still has: for each stream its id and ranges of numbers
            (first, last, …). They get the delivery tags from 1 up.
        held_at: For each element of `held`, the id of the node that delivered its messages. Empty: the
            receiver. Only with the feature `visits`.
    """

    word: ClassVar[str] = SERVICES
    limit: ClassVar[int] = CALL_FRAME
    checks: ClassVar[Checks] = (("held", check_held),)

    request: int
    subscription: U32
    address: str
    credit: U32
    local_only: bool = False
    begun: U32 = 2**32 - 1
    selector: Annotated[str, Meta(max_length=SELECTOR)] = ""
    lease: U32 = 0
    held: Annotated[tuple[Held, ...], Meta(max_length=QUEUE_CREDIT)] = ()
    held_at: Annotated[
        tuple[Annotated[bytes, Meta(min_length=16, max_length=16)], ...], Meta(max_length=QUEUE_CREDIT)
    ] = ()


@command
class Settle(Command, frozen=True, tag=51):
    """Settlement of delivered messages, by delivery tags of an epoch.

    Of the envelope the mesh reads only `count`, `sizes`, `props` and the body. Tags that are no longer
    outstanding, and earlier epochs, are ignored. The stream may be the client's own, with no domain and the
    numbers 1 to `count`.

    Attributes:
        subscription: Number of the consumer.
        epoch: Epoch, from the REPLY to CONSUME.
        done: Ranges of tags that are done without a reply: first, last, first, last, …
        replied: Tags of requests, one for each message of the envelope that follows, which is its reply.
        frames: Number of frames of the body of that envelope, if there is one.
        request: Of a queue: REPLY repeats it after this is on disk. 0: no REPLY.
        entries: Of a queue: first and last tag, 1 (nack), 2 (reject) or 3 (extend), delay in ms, reason.
    """

    word: ClassVar[str] = SERVICES
    limit: ClassVar[int] = CALL_FRAME
    checks: ClassVar[Checks] = (("entries", check_settled),)
    is_of_client: ClassVar[bool] = True

    subscription: U32
    epoch: Natural
    done: Annotated[tuple[U32, ...], Meta(max_length=2 * ADDRESS_CREDIT)] = ()
    replied: Annotated[tuple[U32, ...], Meta(max_length=ENVELOPE_MESSAGES)] = ()
    frames: tuple[Natural, ...] = ()
    request: int = 0
    entries: Annotated[tuple[Settled, ...], Meta(max_length=QUEUE_CREDIT)] = ()

    def frame_counts(self) -> Sequence[int]:
        return self.frames
