"""Questions about sessions that move between nodes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from mesh.discovery.state import Natural
from mesh.wire.calls.ask import Ask, Carried, QueueName
from mesh.wire.header import U32
from mesh.wire.interest import Query
from mesh.wire.limits import QUEUE_CREDIT, RESUMED
from mesh.wire.serving import Held, Settled
from mesh.wire.sessions import Certificate

Uuid = Annotated[bytes, Meta(min_length=16, max_length=16)]
Nodes = Annotated[list[Uuid], Meta(max_length=64)]
Counts = list[tuple[U32, Natural]]


class AskAttach(Ask, frozen=True, kw_only=True):
    """Take over the session of the client, which was at other nodes before.

    The client sends it after WELCOME, before it subscribes.

    Attributes:
        certificate: Proof that the session is at this node.
        former: Ids of the nodes that still hold messages of the session, at most 8. The REPLY means that they
            have been released.
        subscriptions: Numbers of the subscriptions that the client subscribes next.
        received: For each node of `former`: numbers of subscriptions, each with the number of its items that
            the client received there.
    """

    verb = "attach"
    certificate: Certificate
    former: Annotated[list[Uuid], Meta(max_length=8)] = []
    subscriptions: list[U32] = []
    received: Annotated[list[Counts], Meta(max_length=8)] = []


class AskOfVisit(Carried, frozen=True, kw_only=True):
    """A question of the node that a session visits. Nodes that are not its target pass it on.

    Attributes:
        certificate: Proof that the session is at the node that asked first.
        target: Id of the node that answers. Empty: the receiver.
    """

    certificate: Certificate
    target: Annotated[bytes, Meta(max_length=16)] = b""


class ResumeRow(Struct, frozen=True, array_like=True):
    """The question about one subscription in `resume`.

    Attributes:
        subscription: Number of the subscription.
        query: Query of the subscription.
        at: Position at which the page begins.
        end: Last position, from the reply to the first question. 0: this is the first question.
        done: Position up to which the client has all messages; those are released. With `done` = `end` the
            pin ends.
        number: Number of the pin at the asking node, the same in repeated questions. 0: none.
    """

    subscription: U32
    query: Query
    at: int = 0
    end: int = 0
    done: int = 0
    number: int = 0


class AskResume(AskOfVisit, frozen=True, kw_only=True):
    """Return messages of the log for subscriptions of a session that moved to the asking node.

    The first question about a subscription pins the log: its messages from `at` up to the last position stay
    until they are settled, even if this node or the asking one restarts.

    Attributes:
        former: Ids of the nodes at which the session was; the asking node may be one. If `at` of a first
            question is 0, messages begin where this node owes one of them the query.
        rows: For each subscription an array: its number, its query, the position `at` at which the page
            begins, the last position `end` from the reply to the first question (0: this is the first one),
            and the position `done` up to which the client has all messages. Those are released; with `done` =
            `end` the pin ends. The last item is the number of the pin at the asking node, the same in
            repeated questions: a pin with this number that has ended is not made again.
        subscriptions: As in MOVED, for a receiver that is reached through other nodes.
    """

    verb = "resume"
    former: Nodes = []
    rows: Annotated[list[ResumeRow], Meta(max_length=RESUMED)] = []
    subscriptions: tuple[U32, ...] | None = None


class AskRefill(Carried, frozen=True, kw_only=True):
    """Return messages of the master's log that a slave may have missed before it changed its parent.

    The slave asks its new parent, after that has confirmed the INTEREST. A parent that is not the master asks
    its own next hop. The queries are those of the asking node. The first question pins the log, as `resume`.

    Attributes:
        slave: Id of the slave.
        number: Secret of the slave for this refill, at most 2^56 - 1. Nodes that do not know it can neither
            read nor end the pin.
        domain: Domain whose route changed; `*`: all that no rule names.
        at: Position at which the page begins. 0: where the master owes messages to `former`.
        end: Last position, from the reply to the first question. 0: this is the first question.
        done: Position up to which all subscribers behind the slave have all messages; those are released.
        former: Id of the former parent, in the first question.
    """

    verb = "refill"
    slave: Uuid
    number: Annotated[int, Meta(ge=0, lt=2**56)] = 0
    domain: Annotated[str, Meta(max_length=256)] = ""
    at: int = 0
    end: int = 0
    done: int = 0
    former: bytes = b""


class AskRelease(AskOfVisit, frozen=True, kw_only=True):
    """Release a session that has moved from the receiver to another node.

    The receiver settles the messages of the given masters that it holds for the session. Those masters have
    pinned their logs.

    Attributes:
        masters: Ids of the masters; none with `is_last`: the session has no subscriptions at the asking node.
        is_last: Whether these are all masters: the session ends at the receiver, unless it holds messages of
            others.
        received: Of `attach`, for the receiver.
    """

    verb = "release"
    masters: Annotated[list[Uuid], Meta(max_length=4200)] = []
    is_last: bool = False
    received: Counts = []


class AskHold(AskOfVisit, frozen=True, kw_only=True):
    """Keep the deliveries of a session that moved to the asking node, which settles them from now on.

    The reply has the epoch for `settle`. The asking node repeats the question after each login.

    Attributes:
        subscription: Number of the consumer.
        queue: Name of the queue.
        lease: As in CONSUME.
        held: As in CONSUME. Empty: the consumer has settled everything, or has left.
        begun: With `held` empty: the last delivery tag that was begun. Later ones are not failed attempts.
    """

    verb = "hold"
    subscription: U32
    queue: QueueName
    lease: U32 = 0
    held: Annotated[tuple[Held, ...], Meta(max_length=QUEUE_CREDIT)] = ()
    begun: U32 = 0


class AskSettle(AskOfVisit, frozen=True, kw_only=True):
    """Settle deliveries of a session that moved to the asking node; answered when the outcome is on disk.

    A question that settles nothing, every 5 s through a relay, reports that the consumer is still there.

    Attributes:
        subscription: Number of the consumer.
        epoch: Epoch, from the reply to `hold`.
        done: As in SETTLE.
        entries: As in SETTLE.
    """

    verb = "settle"
    subscription: U32
    epoch: Natural
    done: Annotated[list[U32], Meta(max_length=2 * QUEUE_CREDIT)] = []
    entries: Annotated[list[Settled], Meta(max_length=QUEUE_CREDIT)] = []


class AskCollect(Carried, frozen=True, kw_only=True):
    """Return direct messages of a session that moved from its home to another node.

    The home keeps each message until the client has processed it. Without `is_open`, none are returned: the
    question reports that the session is at the asking node. A node that must not link with the home asks a
    node on the route, about once a second, and that node passes the question on.

    Attributes:
        certificate: Proof that the session is at the node that asked first.
        user: Key of the client at the asking node.
        is_named: Whether the user chose the name of the client.
        run: Random id. With a new one, the home sends all unprocessed messages again, from number 1.
        at: Number of the first message to return. 0: the session has ended.
        done: Number up to which the client has processed all messages.
        is_connected: Whether the client is connected.
        is_open: Whether the client has opened its inbox.
    """

    verb = "collect"
    certificate: Certificate
    user: Annotated[str, Meta(max_length=64)] = ""
    is_named: bool = False
    run: Annotated[bytes, Meta(min_length=8, max_length=8)]
    at: Annotated[int, Meta(ge=0)] = 1
    done: Annotated[int, Meta(ge=0)] = 0
    is_connected: bool = True
    is_open: bool = True


class AskNotify(Ask, frozen=True, kw_only=True):
    """Collect the direct messages of a session: its home, which asks, has new ones.

    Attributes:
        stream: Stream id of the session.
    """

    verb = "notify"
    stream: Uuid
