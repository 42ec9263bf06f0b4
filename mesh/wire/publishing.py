"""Messages, their answers, and deliveries to subscribers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from mesh.discovery.state import Natural
from mesh.wire.command import Command, command
from mesh.wire.counts import check_targets
from mesh.wire.envelope import Envelope
from mesh.wire.handshake import Introduction
from mesh.wire.header import U32
from mesh.wire.limits import ENVELOPE_MESSAGES, FRAME, WAYS


@command
class Publish(Command, frozen=True, tag=20):
    """Messages of a client.

    Attributes:
        frames: For each envelope that follows, the number of frames of its body.
        ttls: For each envelope to an address, the ms until a server must begin. 0: no limit. 1: no time is
            left. Empty: 0 for all.
    """

    is_of_client: ClassVar[bool] = True

    frames: tuple[Natural, ...]
    ttls: tuple[U32, ...] = ()

    def frame_counts(self) -> Sequence[int]:
        return self.frames


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """Answer to a range of sequence numbers of one stream.

    A message that is refused or expires after a `FORWARD_WARNING` is republished as a dead letter, with the
    key `__sys__deadMessage/` and its id. Before its own headers it has `dead-code`, `dead-reason`, `dead-id`,
    `dead-key`, `dead-domain`, `dead-sender`, `dead-to`, `dead-owner`, `dead-transaction`
    (`committed`), `dead-priority` and `dead-group`. Receivers that may not read it receive only `dead-code`,
    `dead-id` and `dead-private`.

    Attributes:
        domain: Domain of the stream.
        first: First number.
        last: Last number.
        state: `OK`, `FORWARD_WARNING` or the code of a refusal.
        matched: For each message, the number of subscriptions at the master plus other nodes that receive it.
        text: Text of a warning or refusal.
    """

    domain: str
    first: Natural
    last: Natural
    state: str = "OK"
    matched: Natural = 0
    text: str = ""


@command
class Answers(Command, frozen=True, tag=21):
    """Answers to published messages.

    Attributes:
        answers: The answers, in any order.
    """

    limit: ClassVar[int] = FRAME

    answers: tuple[Answer, ...]


@command
class Forward(Command, frozen=True, tag=24):
    """Envelopes for their master, or for the next node on their route.

    Each node appends itself to `route`. The first node resends until it has OUTCOMES, and masters drop
    repeats. The stratum of the last hop is 1 on the direct route to a master, else 0. In a mesh with keys
    each hop must be in the signed `ways` of the hop before, else the answer is `FORGED_SENDER`.

    Attributes:
        frames: As in PUBLISH.
    """

    frames: tuple[Natural, ...]

    def frame_counts(self) -> Sequence[int]:
        return self.frames


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """Answer to a stream of another node.

    Attributes:
        stream: Stream id.
        answer: The answer.
    """

    stream: bytes
    answer: Answer


@command
class Outcomes(Command, frozen=True, tag=25):
    """Answers to FORWARD, sent back along the route.

    Attributes:
        outcomes: The answers.
    """

    limit: ClassVar[int] = FRAME

    outcomes: tuple[Outcome, ...]


@command
class Ways(Command, frozen=True, tag=26):
    """In a mesh with keys: request for signed states of nodes, or the reply with the states.

    Attributes:
        names: Request: names of nodes, at most 16.
        nodes: Reply: their introductions.
        gossip: Reply: their newest states, as in STATES.
    """

    word: ClassVar[str] = WAYS
    limit: ClassVar[int] = FRAME

    names: tuple[str, ...] = ()
    nodes: tuple[Introduction, ...] = ()
    gossip: bytes = b""


class ItemHead(msgspec.Struct, frozen=True, array_like=True):
    """Delivery data of one envelope of ITEMS.

    Attributes:
        frames: Number of frames of its body.
        position: Position in the log of its master; of a transient message the last position before it. 0:
            none.
        master: Id of that master, which may be another node than the sender.
        targets: To a client: for each subscription its number and a u16 column of the places in this envelope
            that are for it. Empty column: all.
        gaps: For each subscription the number of its messages that were dropped before this one. 0:
            an unknown number of transient ones may be missing, as a node where the session was has ended.
        ttl: Of an envelope to an address: the ms that are left. 0: no limit.
        tries: From a queue: for each message a byte with its earlier deliveries. Empty: none.
    """

    frames: Natural
    position: Natural = 0
    master: bytes = b""
    targets: tuple[tuple[U32, bytes], ...] = ()
    gaps: tuple[tuple[U32, U32], ...] = ()
    ttl: U32 = 0
    tries: Annotated[bytes, Meta(max_length=ENVELOPE_MESSAGES)] = b""


@command
class Items(Command, frozen=True, tag=22):
    """Messages for subscriptions.

    Between nodes heads have no targets, and gaps have the subscription 0. A node drops and counts items that
    it did not request, and items whose `route` does not lead from the node of their `sender` to the peer,
    unless a rule names the peer. `position` counts in the log of the master. After a reconnect,
    unacknowledged ITEMS are sent again right after WELCOME, with their old numbers, unless the process of the
    node is new.

    Attributes:
        seq: Number of this command: 1, 2, 3, … without a gap, for each pair of boots.
        heads: One head for each envelope that follows.
    """

    limit: ClassVar[int] = FRAME

    seq: Natural
    heads: tuple[ItemHead, ...]

    def frame_counts(self) -> Sequence[int]:
        return [head.frames for head in self.heads]

    def check_envelopes(self, envelopes: Sequence[Envelope]) -> None:
        for head, envelope in zip(self.heads, envelopes, strict=True):
            check_targets(head.targets, head.tries, envelope.count)


@command
class Ack(Command, frozen=True, tag=23):
    """Cumulative acknowledgment of ITEMS. An older one changes nothing.

    Attributes:
        have: Number of the last ITEMS received.
        taken: Of a client: for each subscription the number of items that it has consumed. Of a node: `[[0,
            ENVELOPES RECEIVED]]`.
        settled: Of a node: for each master the position up to which no subscriber is owed anything.
    """

    have: Natural
    taken: tuple[tuple[U32, Natural], ...] = ()
    settled: tuple[tuple[bytes, Natural], ...] = ()
