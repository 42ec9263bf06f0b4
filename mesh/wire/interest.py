"""Subscriptions, and calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from mesh.discovery.state import Natural
from mesh.wire.codec import check_plain
from mesh.wire.command import Checks, Command, command
from mesh.wire.header import U32
from mesh.wire.limits import CALL_FRAME, HISTORY_MESSAGES, INTEREST_FRAME


class Query(msgspec.Struct, frozen=True, array_like=True):
    """A selection of topics or messages, such as that of a subscription.

    Attributes:
        kind: `"exact"`, `"pattern"`, `"xpath"`, or `"inbox"` for messages to the session.
        text: A key, pattern or XPath. In a pattern the level `+` matches one level, and `#`, at the end only,
            any number.
        domain: Only messages of this domain. `""`: of any domain, and of none.
    """

    kind: str
    text: str
    domain: str = ""


@command
class Interest(Command, frozen=True, tag=30):
    """Queries of a node's clients, and of peers to which the node forwards, for another node.

    Sent after each login and after each change. Parts hold at most INTEREST_PART bytes. The positions of a
    log begin at 2⁴⁰ times the boot.

    Attributes:
        version: Number that grows with each change.
        full: Whether this replaces everything sent before.
        add: New queries.
        remove: Queries that end.
        positions: With `full`: for each master the highest position of its log that the sender has received
            from the receiver.
        more: Whether another part of the same version follows.
    """

    limit: ClassVar[int] = INTEREST_FRAME

    version: Natural
    full: bool
    add: tuple[Query, ...] = ()
    remove: tuple[Query, ...] = ()
    positions: tuple[tuple[bytes, Natural], ...] = ()
    more: bool = False


@command
class Interested(Command, frozen=True, tag=31):
    """Confirmation that an INTEREST is known and on disk.

    Attributes:
        version: Version of the INTEREST.
    """

    version: Natural


@command
class Subscribe(Command, frozen=True, tag=32):
    """Start of a subscription.

    With `block`, a node holds back answers to publishers while the subscriber makes progress every 0.5 s;
    without progress, the node drops the newest messages. `drop_newest` and `drop_oldest` drop immediately.
    `error` ends the subscription: ENDED.

    Attributes:
        request: Number of the request; REPLY repeats it.
        subscription: Number of the subscription, from 1 up, chosen by the client and never reused for another
            query. 0: the inbox.
        query: The query.
        initial: Whether to begin with the retained value of each topic. A number N: begin with its latest N
            messages. Only nodes with the feature `history` read a number.
        resumed: Whether the subscription existed before, in the same session and the same process of the
            node. Then no retained values are sent.
        overflow: What happens when transient messages exceed the limits: `block`, `drop_newest`,
            `drop_oldest` or `error`. `""`: `block`.
        max_queue: Limit of messages in flight, and again of messages that wait. 0: the limits of the node.
        since: Of a subscription that was at another node: for each master the last position of its log that
            the client has, at most 64.
    """

    request: int
    subscription: U32
    query: Query
    initial: bool | Annotated[int, Meta(ge=1, le=HISTORY_MESSAGES)] = True
    resumed: bool = False
    overflow: str = ""
    max_queue: U32 = 0
    since: tuple[tuple[bytes, Natural], ...] = ()


@command
class Unsubscribe(Command, frozen=True, tag=33):
    """End of a subscription.

    Attributes:
        request: Number of the request; REPLY repeats it.
        subscription: Number of the subscription.
    """

    request: int
    subscription: U32


@command
class Ended(Command, frozen=True, tag=36):
    """Notice that the node has ended a subscription. The client replies with UNSUBSCRIBE.

    Until the client replies, each SUBSCRIBE with that number is answered by ENDED.

    Attributes:
        subscription: Number of the subscription.
        code: Code of the reason.
        text: Reason, in words.
    """

    subscription: U32
    code: str
    text: str


@command
class Call(Command, frozen=True, tag=34):
    """A question to a node: a verb with arguments.

    Attributes:
        request: Number of the request, a new one for each question of a session; REPLY repeats it.
        verb: Verb of the question.
        arguments: Arguments, by name.
    """

    limit: ClassVar[int] = CALL_FRAME
    checks: ClassVar[Checks] = (("arguments", check_plain),)

    request: int
    verb: str
    arguments: dict[str, Any] = {}


@command
class Reply(Command, frozen=True, tag=35):
    """Reply to SUBSCRIBE, UNSUBSCRIBE, CALL, CONSUME or SETTLE.

    Attributes:
        request: Number of the request.
        value: Value of the reply.
        code: Code of the error. `""`: success.
        text: Text of the error, for people.
        frames: As in PUBLISH.
    """

    limit: ClassVar[int] = CALL_FRAME
    checks: ClassVar[Checks] = (("value", check_plain),)

    request: int
    value: Any = None
    code: str = ""
    text: str = ""
    frames: tuple[Natural, ...] = ()

    def frame_counts(self) -> Sequence[int]:
        return self.frames
