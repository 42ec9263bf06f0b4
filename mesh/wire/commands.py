"""The commands: the first frame of every message, as typed values.

A command is an array `[kind, field, …]`. A new field goes to the end and has a default, so that an older
peer ignores it and a newer one fills it in. `python -m tools.wire_tables` copies the docstrings to
docs/wire.md.
"""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, get_args

import msgspec
from msgspec import Meta

from mesh.discovery.state import Natural
from mesh.errors import RemoteError
from mesh.names import LONGEST_QUEUE
from mesh.values import LONGEST_DOMAIN
from mesh.wire.codec import check_plain, malformed, reader
from mesh.wire.counts import check_held, check_moving, check_ranges, check_settled
from mesh.wire.header import U32 as U32
from mesh.wire.header import FromOne
from mesh.wire.limits import (
    ADDRESS_CREDIT,
    CALL_FRAME,
    CHAINS,
    CONTROL_FRAME,
    ENVELOPE_MESSAGES,
    ENVELOPES_A_MESSAGE,
    FOLLOWED,
    FRAME,
    HOPS,
    INTEREST_FRAME,
    LARGEST_NUMBER,
    NOTE,
    QUEUE_CREDIT,
    REASON,
    SELECTOR,
    SERVICES,
    SITE_NODES,
    SITES,
    STRATA,
    TRANSFERS,
    TRANSFERS_OPEN,
    WAYS,
)
from mesh.wire.metadata import NOTHING

NODE_CONTROL, NODE_DATA, CLIENT, RELAY = "control", "data", "client", "relay"  # roles of a connection

SECRETS = ("passwd", "token")
FIELD = 64  # bytes of an unknown command's first field in UNKNOWN
NACK, REJECT, EXTEND = 1, 2, 3  # outcomes of a queued message besides done


class Command(msgspec.Struct, frozen=True, array_like=True, tag_field="kind"):
    """Base of all commands."""

    word: ClassVar[str] = ""  # feature that the receiver must have

    def __repr__(self) -> str:
        # Credentials must not appear in a log or a traceback.
        shown = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name not in SECRETS)
        return f"{type(self).__name__}({', '.join(shown)})"


class Introduction(msgspec.Struct, frozen=True, array_like=True):
    """A node as it introduces itself to other nodes.

    Attributes:
        uuid: Id of the node, 16 bytes, created once and kept.
        name: Name, unique in the mesh, 1 to 64 of `A-Z a-z 0-9 _ . : -`.
        boot: Number of this start of the node, below 2²². It grows with each start.
        address: TCP address of its ROUTER socket. `""`: it accepts no TCP connections.
        also: Addresses of the same socket on other interfaces, at most 8.
        gossip: TCP address of its PUB socket. `tcp://*:PORT` is that port at the host where the node was
            reached.
        key: Public Ed25519 key, 32 bytes, in a mesh with keys.
        metadata: Texts by name that the node publishes about itself, at most 512 bytes. A map that is longer,
            or holds anything else, counts as empty. Only the node itself sends them.
    """

    uuid: bytes
    name: str
    boot: Natural
    address: str
    also: tuple[str, ...] = ()
    gossip: str = ""
    key: bytes = b""
    metadata: msgspec.Raw = NOTHING


# --- opening a connection ----------------------------------------------------------------------


class Hello(Command, frozen=True, tag=1):
    """The first command of a connection, from the side that dialed.

    Attributes:
        versions: Oldest and newest wire version that the sender knows.
        role: `"client"`; of a node `"control"` or `"data"`, of a gateway of another site `"relay"`.
        cluster: Name of the mesh; from a client `""` for any, from a gateway the site that it dials.
        nonce: 16 random bytes, new for each connection.
        proof: Proof of the secret, 32 bytes. Only over TCP, in reply to a CHALLENGE.
        node: Of a node: its introduction.
        client: Of a client: its name, 1 to 64 of `A-Z a-z 0-9 _ . : -`, not beginning with `__sys__`.
        session: Of a client: a well-known session number from 1 up, or 0 for a negative one that the node
            chooses.
        stream: Of a client: its stream id, 16 bytes, derived from `key`.
        token: Of a client: the token from WELCOME that resumes its session.
        boot_seen: Boot of the other end in the last WELCOME, to which `have` refers.
        have: Number of the last ITEMS received from the other end.
        next: Of a node: number of the next ITEMS that it sends.
        signature: Of a client, after CHALLENGE: signature by `key`, 64 bytes. Of a node: signature by its
            Ed25519 key; without keys a MAC of 32 bytes that only the node itself can check.
        software: Name and version of the software, for logs.
        passwd: Password of the node, where it requires one. Only over CURVE.
        alive: Of a node: the number of nodes that it counts as alive, itself included.
        key: Of a client: public half of the Ed25519 key of its stream, 32 bytes.
        process: Of a node: 16 bytes of its process: `born`, its start in ns since 1970 (8 bytes, big-endian)
            and 4 random bytes.
        speaks: Features of the sender.
        named: Of a client: `false` if its name was generated. Such a client has no inbox beside that of its
            session.
        site: Of a gateway: the site that it belongs to.
        wall: Clock of the sender, in ns since 1970. 0: not given.
    """

    versions: tuple[int, int]
    role: str
    cluster: str
    nonce: bytes
    proof: bytes = b""
    node: Introduction | None = None
    client: str = ""
    session: int = 0
    stream: bytes = b""
    token: bytes = b""
    boot_seen: Natural = 0
    have: Natural = 0
    next: Natural = 1
    signature: bytes = b""
    software: str = ""
    passwd: str = ""
    alive: Natural = 0
    key: bytes = b""
    process: bytes = b""
    speaks: tuple[str, ...] = ()
    named: bool = True
    site: str = ""
    wall: Natural = 0


class Challenge(Command, frozen=True, tag=2):
    """Reply to a HELLO over TCP that has no proof.

    Attributes:
        nonce: 16 random bytes.
        endpoint: Address to which the node is bound; in a mesh with keys its name.
        uuid: Id of the node. The client signs for this node only.
    """

    nonce: bytes
    endpoint: str
    uuid: bytes = b""


class Welcome(Command, frozen=True, tag=3):
    """Acceptance of a HELLO.

    Attributes:
        version: Wire version of this connection, the newest that both ends know.
        node: The node that was dialed.
        cluster: Name of its mesh.
        proof: Proof of the secret, 32 bytes. Only over TCP.
        boot_seen: To a node: boot of the dialing node to which `have` refers.
        have: To a node: number of the last ITEMS received from that node.
        next: Number of the next ITEMS that the node sends.
        session: To a client: name of its session, `/node/NODE/client/CLIENT/session/NUMBER`.
        token: To a client: token that resumes this session.
        max_content: To a client: limit of the content of one message, in bytes.
        window: To a client: bytes of bodies, and envelopes, that may be unanswered.
        nodes: To a node: other nodes. Empty in a mesh of more than 32.
        signature: Signature of the proven text by the node's Ed25519 key, 64 bytes; without keys a MAC of 32
            bytes that only the node itself can check.
        passwd: To a node, in a mesh with keys: password of the dialing node, where that requires one.
        alive: To a node: as in HELLO.
        speaks: Features of the node.
        wall: As in HELLO.
    """

    version: int
    node: Introduction
    cluster: str
    proof: bytes = b""
    boot_seen: Natural = 0
    have: Natural = 0
    next: Natural = 1
    session: str = ""
    token: bytes = b""
    max_content: Natural = 0
    window: tuple[Natural, Natural] = (0, 0)
    nodes: tuple[Introduction, ...] = ()
    signature: bytes = b""
    passwd: str = ""
    alive: Natural = 0
    speaks: tuple[str, ...] = ()
    wall: Natural = 0


class Refuse(Command, frozen=True, tag=4):
    """Refusal of a HELLO, or of a message that breaks the protocol. It ends the connection.

    If `final` is false, dial again after a random delay that grows from 0.05 s to 2 s. Messages published
    before stay published.

    Attributes:
        code: Code of the reason.
        reason: Reason, in words.
        hint: What the user can do.
        final: Whether dialing again is useless until the user changes something.
        proof: As in WELCOME, with the role `"refuser"`. Only over TCP without keys, after a CHALLENGE.
        process: With `SAME_UUID`: process of the refusing node, as in HELLO.
        key: With `SAME_UUID`, in a mesh with keys: its Ed25519 key, 32 bytes.
        signature: With `SAME_UUID`: signature of the proven text by `key`, 64 bytes; without keys a MAC of 32
            bytes.
    """

    code: str
    reason: str
    hint: str = ""
    final: bool = False
    proof: bytes = b""
    process: bytes = b""
    key: bytes = b""
    signature: bytes = b""


class Who(Command, frozen=True, tag=5):
    """The node does not know this connection; the client must dial again."""


# --- keeping it ------------------------------------------------------------------------------------


class Ping(Command, frozen=True, tag=6):
    """A test whether the other end lives.

    The lowest of the last three differences between `wall` and the receiver's clock corrects `expires` of all
    envelopes of this connection, if it is a second or more.

    Attributes:
        stamp: Any number; PONG repeats it.
        wall: Clock of the sender, in ns since 1970. 0: not given.
    """

    stamp: int
    wall: Natural = 0


class Pong(Command, frozen=True, tag=7):
    """Immediate reply to PING.

    Attributes:
        stamp: Number of the PING.
    """

    stamp: int


class Bye(Command, frozen=True, tag=8):
    """Orderly end of a connection.

    Attributes:
        reason: `"stopping"`: the node stops. `"replaced"`: another connection replaces this one.
        forward: Addresses of other nodes, at most 32.
    """

    reason: str = ""
    forward: tuple[str, ...] = ()


class Peers(Command, frozen=True, tag=9):
    """Nodes that joined the mesh.

    In a mesh of more than 32 nodes rumors replace it.

    Attributes:
        nodes: Their introductions.
    """

    nodes: tuple[Introduction, ...]


class Login(Command, frozen=True, tag=10):
    """Request to the node that dialed to dial the data connection too."""


class Piece(Command, frozen=True, tag=18):
    """Next bytes of a long message whose frames are sent end to end.

    A node accepts `max_content` and 2.25 MiB from a client, 128 MiB from a node, and 256 MiB of unfinished
    messages in all (`NO_ROOM`). The next piece must arrive within 30 s (`STOPPED`).

    Attributes:
        sizes: In the first piece of a message: the length of each frame. Otherwise empty.
        data: The bytes, at least one.
    """

    sizes: tuple[Natural, ...]
    data: bytes


class PieceAck(Command, frozen=True, tag=19):
    """Acknowledgment of pieces.

    Attributes:
        taken: Bytes received in pieces since the connection began.
    """

    taken: Natural


# --- membership --------------------------------------------------------------------------------------


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


class Probed(Command, frozen=True, tag=13):
    """Reply to PROBE or PROBEFOR.

    Attributes:
        number: Number of the probe.
        lives: Whether the probed node answered. To PROBE, `false` means that another id or boot is here.
        rumours: Rumors for the receiver.
    """

    number: Natural
    lives: bool = True
    rumours: tuple[Rumour, ...] = ()


class Rumours(Command, frozen=True, tag=14):
    """Rumors that do not wait for the next probe.

    Attributes:
        rumours: The rumors.
    """

    rumours: tuple[Rumour, ...]


class Census(Command, frozen=True, tag=17):
    """Request for RUMOURS about nodes that count as alive.

    RUMOURS with at most 1,000 nodes each follow.

    Attributes:
        uuids: Ids of the nodes. Empty: all.
    """

    uuids: tuple[bytes, ...] = ()


class States(Command, frozen=True, tag=15):
    """Gossip for a node that does not receive the PUB socket.

    Attributes:
        gossip: An encoded StateMessage.
    """

    gossip: bytes


class Hear(Command, frozen=True, tag=16):
    """Start or stop of STATES on this link.

    Attributes:
        wanted: Whether the sender needs STATES.
    """

    wanted: bool


class Unknown(Command, frozen=True, tag=27):
    """Reply to a command of a kind that is not known.

    Attributes:
        command: Kind of that command.
        field: Its first field, if that has at most 64 bytes.
    """

    command: Natural
    field: Any = None


# --- publishing ----------------------------------------------------------------------------------


class Publish(Command, frozen=True, tag=20):
    """Messages of a client.

    Attributes:
        frames: For each envelope that follows, the number of frames of its body.
        ttls: For each envelope to an address, the ms until a server must begin. 0: no limit. 1: no time is
            left. Empty: 0 for all.
    """

    frames: tuple[Natural, ...]
    ttls: tuple[U32, ...] = ()


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """Answer to a range of sequence numbers of one stream.

    A message that is refused or expires after a `FORWARD_WARNING` is republished as a dead letter, with the
    key `__sys__deadMessage/` and its id. Before its own headers it has `dead-code`, `dead-reason`, `dead-id`,
    `dead-key`, `dead-domain`, `dead-sender`, `dead-to`, `dead-owner`, `dead-priority` and `dead-group`.
    Receivers that may not read it get only `dead-code`, `dead-id` and `dead-private`.

    Attributes:
        domain: Domain of the stream.
        first: First number.
        last: Last number.
        state: `OK`, `FORWARD_WARNING` or the code of a refusal.
        matched: Number of subscriptions at the master, and of other nodes, that receive it.
        text: Text of a warning or refusal.
    """

    domain: str
    first: Natural
    last: Natural
    state: str = "OK"
    matched: Natural = 0
    text: str = ""


class Answers(Command, frozen=True, tag=21):
    """Answers to published messages.

    Attributes:
        answers: The answers, in any order.
    """

    answers: tuple[Answer, ...]


class Forward(Command, frozen=True, tag=24):
    """Envelopes for their master, or for the next node on their route.

    Each node appends itself to `route`. The first node resends until it has OUTCOMES, and masters drop
    repeats. The stratum of the last hop is 1 on the way straight to a master, else 0. In a mesh with keys
    each hop must be in the signed `ways` of the hop before, else the answer is `FORGED_SENDER`.

    Attributes:
        frames: As in PUBLISH.
    """

    frames: tuple[Natural, ...]


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """Answer to a stream of another node.

    Attributes:
        stream: Stream id.
        answer: The answer.
    """

    stream: bytes
    answer: Answer


class Outcomes(Command, frozen=True, tag=25):
    """Answers to FORWARD, sent back along the route.

    Attributes:
        outcomes: The answers.
    """

    outcomes: tuple[Outcome, ...]


class Ways(Command, frozen=True, tag=26):
    """In a mesh with keys: request for signed states of nodes, or the reply with the states.

    Attributes:
        names: Request: names of nodes, at most 16.
        nodes: Reply: their introductions.
        gossip: Reply: their newest states, as in STATES.
    """

    word: ClassVar[str] = WAYS

    names: tuple[str, ...] = ()
    nodes: tuple[Introduction, ...] = ()
    gossip: bytes = b""


# --- delivering --------------------------------------------------------------------------------------


class ItemHead(msgspec.Struct, frozen=True, array_like=True):
    """Delivery data of one envelope of ITEMS.

    Attributes:
        frames: Number of frames of its body.
        position: Position in the log of its master; of a transient message the last position before it. 0:
            none.
        master: Id of that master, which may be another node than the sender.
        targets: To a client: for each subscription its number and a u16 column of the places in this envelope
            that are for it. Empty column: all.
        gaps: For each subscription the number of its messages that were dropped before this one.
        ttl: Of an envelope to an address: the ms that it had left. 0: no limit.
        tries: From a queue: for each message a byte with its earlier deliveries. Empty: none.
    """

    frames: Natural
    position: Natural = 0
    master: bytes = b""
    targets: tuple[tuple[U32, bytes], ...] = ()
    gaps: tuple[tuple[U32, U32], ...] = ()
    ttl: U32 = 0
    tries: Annotated[bytes, Meta(max_length=ENVELOPE_MESSAGES)] = b""


class Items(Command, frozen=True, tag=22):
    """Messages for subscriptions.

    Between nodes heads have no targets, and gaps have the subscription 0. A node drops and counts items that
    it did not request, and items whose `route` does not lead from the node of their `sender` to the peer,
    unless a rule names the peer. `position` counts in the log of the master. After a reconnect unacknowledged
    ITEMS come again right after WELCOME, with their old numbers, unless the node has begun anew.

    Attributes:
        seq: Number of this command: 1, 2, 3, … without a gap, for each pair of boots.
        heads: One head for each envelope that follows.
    """

    seq: Natural
    heads: tuple[ItemHead, ...]


class Ack(Command, frozen=True, tag=23):
    """Cumulative acknowledgment of ITEMS. An older one changes nothing.

    Attributes:
        have: Number of the last ITEMS received.
        taken: Of a client: for each subscription the number of items that it has used up. Of a node: `[[0,
            ENVELOPES RECEIVED]]`.
        settled: Of a node: for each master the position up to which no subscriber is owed anything.
    """

    have: Natural
    taken: tuple[tuple[U32, Natural], ...] = ()
    settled: tuple[tuple[bytes, Natural], ...] = ()


# --- interest and queries ----------------------------------------------------------------------------


class Query(msgspec.Struct, frozen=True, array_like=True):
    """The messages that a subscription wants.

    Attributes:
        kind: `"exact"`, `"pattern"`, `"xpath"`, or `"inbox"` for messages to the session.
        text: A key, pattern or XPath. In a pattern the level `+` matches one level, and `#`, at the end only,
            any number.
        domain: Only messages of this domain. `""`: of any domain, and of none.
    """

    kind: str
    text: str
    domain: str = ""


class Interest(Command, frozen=True, tag=30):
    """The queries of a node's clients, for another node.

    Sent after each login and after each change. Parts hold at most INTEREST_PART bytes. The positions of a
    log begin at 2⁴⁰ times the boot.

    Attributes:
        version: Number that grows with each change.
        full: Whether this replaces everything sent before.
        add: New queries.
        remove: Queries that end.
        positions: With `full`: for each master the highest position of its log received from this peer.
        more: Whether another part of the same version follows.
    """

    version: Natural
    full: bool
    add: tuple[Query, ...] = ()
    remove: tuple[Query, ...] = ()
    positions: tuple[tuple[bytes, Natural], ...] = ()
    more: bool = False


class Interested(Command, frozen=True, tag=31):
    """Confirmation that an INTEREST is known and on disk.

    Attributes:
        version: Version of the INTEREST.
    """

    version: Natural


class Subscribe(Command, frozen=True, tag=32):
    """Start of a subscription.

    With `block` a node holds back answers to publishers while the subscriber makes progress every 0.5 s, and
    then drops the newest messages. `drop_newest` and `drop_oldest` drop at once. `error` ends the
    subscription: ENDED.

    Attributes:
        request: Number of the request; REPLY repeats it.
        subscription: Number of the subscription, from 1 up, chosen by the client and never reused for another
            query. 0: the inbox.
        query: The query.
        initial: Whether to begin with the retained value of each topic.
        resumed: Whether the subscription existed before and the node has not begun anew. Then no retained
            values are sent.
        overflow: What happens when transient messages exceed the limits: `block`, `drop_newest`,
            `drop_oldest` or `error`. `""`: `block`.
        max_queue: Limit of messages in flight, and of as many that wait. 0: the limits of the node.
    """

    request: int
    subscription: U32
    query: Query
    initial: bool = True
    resumed: bool = False
    overflow: str = ""
    max_queue: U32 = 0


class Unsubscribe(Command, frozen=True, tag=33):
    """End of a subscription.

    Attributes:
        request: Number of the request; REPLY repeats it.
        subscription: Number of the subscription.
    """

    request: int
    subscription: U32


class Ended(Command, frozen=True, tag=36):
    """Notice that the node has ended a subscription. The client replies with UNSUBSCRIBE.

    Until the client replies, each SUBSCRIBE with that number gets ENDED.

    Attributes:
        subscription: Number of the subscription.
        code: Code of the reason.
        text: Reason, in words.
    """

    subscription: U32
    code: str
    text: str


class Call(Command, frozen=True, tag=34):
    """A question.

    Attributes:
        request: Number of the request, a new one for each question of a session; REPLY repeats it.
        verb: Verb of the question.
        arguments: Arguments, by name.
    """

    request: int
    verb: str
    arguments: dict[str, Any] = {}


class Reply(Command, frozen=True, tag=35):
    """Reply to SUBSCRIBE, UNSUBSCRIBE, CALL, CONSUME or SETTLE.

    Attributes:
        request: Number of the request.
        value: Value of the reply.
        code: Code of the error. `""`: success.
        text: Text of the error, for people.
        frames: As in PUBLISH.
    """

    request: int
    value: Any = None
    code: str = ""
    text: str = ""
    frames: tuple[Natural, ...] = ()


# --- services ----------------------------------------------------------------------------------------


class Watch(Command, frozen=True, tag=41):
    """The names whose consumers the sender wants to know.

    Between nodes each part has at most 512 names. A node watches a name until no client has used it for 60 s.

    Attributes:
        version: Number that grows with each change.
        full: Whether this replaces everything sent before.
        more: Whether another part of the same version follows.
        add: New names: `["address", ADDRESS]`; between nodes also `["queue", NAME]`.
        remove: Names that are not watched any longer.
    """

    word: ClassVar[str] = SERVICES

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
        note: Between nodes: of a queue its encoded QueueReport, of a site 8 bytes that change when a
            connection is lost.
    """

    kind: str
    name: str
    consumers: Natural
    node: str = ""
    uuid: bytes = b""
    boot: Natural = 0
    note: Annotated[bytes, Meta(max_length=NOTE)] = b""


class Serving(Command, frozen=True, tag=40):
    """Consumers of watched names, at once and after each change.

    Attributes:
        number: Number of this command: 1, 2, 3, … on each connection.
        knows: Highest version of WATCH that was received whole. -1: none.
        rows: All rows of each name that changed. They replace the earlier ones. A row of 0 consumers without
            a node: the name has no consumer.
    """

    word: ClassVar[str] = SERVICES

    number: Natural
    knows: int
    rows: tuple[Row, ...] = ()


class Sends(Command, frozen=True, tag=42):
    """Envelopes for addresses that are served at the receiver.

    They go straight from the node of the client to the serving node, and are never forwarded or resent. Only
    512 and 4096 are allowed as flags.

    Attributes:
        frames: As in PUBLISH.
        ttls: As in PUBLISH.
    """

    word: ClassVar[str] = SERVICES

    frames: tuple[Natural, ...]
    ttls: tuple[U32, ...] = ()


class Sent(Command, frozen=True, tag=43):
    """Answers to SENDS.

    With flag 512 the answer is immediate, and `matched` is the number of servers.

    Attributes:
        outcomes: The answers.
    """

    word: ClassVar[str] = SERVICES

    outcomes: tuple[Outcome, ...]


class Respond(Command, frozen=True, tag=44):
    """Replies for clients of the receiver.

    `to` is the `sender` of the request. Messages for subscriber groups come in the same way from their
    master, with the group in `to`.

    Attributes:
        frames: As in PUBLISH.
    """

    word: ClassVar[str] = SERVICES

    frames: tuple[Natural, ...]


class Members(Command, frozen=True, tag=45):
    """Number of members of subscriber groups at the sender.

    Sent to all nodes with the feature, at most 100 groups in one command and 10,000 of a node.

    Attributes:
        number: Number of this command: 1, 2, 3, … on each connection.
        groups: Name of each group, as in CONSUME, and its members.
    """

    word: ClassVar[str] = SERVICES

    number: Natural
    groups: tuple[tuple[str, Natural], ...] = ()


class Heard(Command, frozen=True, tag=46):
    """Confirmation of MEMBERS.

    Attributes:
        number: Number of the last MEMBERS received.
    """

    word: ClassVar[str] = SERVICES

    number: Natural


# Messages of a queue that a client still has: a stream, and ranges of its numbers (first, last, ...).
Held = tuple[
    Annotated[bytes, Meta(min_length=16, max_length=16)],
    Annotated[tuple[FromOne, ...], Meta(max_length=2 * QUEUE_CREDIT)],
]
# First tag, last tag, outcome (NACK, REJECT or EXTEND), delay in ms, reason.
Settled = tuple[
    U32, U32, Annotated[int, Meta(ge=NACK, le=EXTEND)], U32, Annotated[str, Meta(max_length=REASON)]
]


class Consume(Command, frozen=True, tag=50):
    """Start, change or end of consuming from an address, a group or a queue.

    Of several consumers of an address the one with the fewest outstanding messages comes first.

    Attributes:
        request: Number of the request; REPLY repeats it.
        subscription: Number from 1 to 2³²-2, used for nothing else and kept over reconnects.
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
    """

    word: ClassVar[str] = SERVICES

    request: int
    subscription: U32
    address: str
    credit: U32
    local_only: bool = False
    begun: U32 = 2**32 - 1
    selector: Annotated[str, Meta(max_length=SELECTOR)] = ""
    lease: U32 = 0
    held: Annotated[tuple[Held, ...], Meta(max_length=QUEUE_CREDIT)] = ()


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

    subscription: U32
    epoch: Natural
    done: Annotated[tuple[U32, ...], Meta(max_length=2 * ADDRESS_CREDIT)] = ()
    replied: Annotated[tuple[U32, ...], Meta(max_length=ENVELOPE_MESSAGES)] = ()
    frames: tuple[Natural, ...] = ()
    request: int = 0
    entries: Annotated[tuple[Settled, ...], Meta(max_length=QUEUE_CREDIT)] = ()


# --- parts of a queue at several nodes ---------------------------------------------------------------

Number = Annotated[int, Meta(ge=1, le=LARGEST_NUMBER)]
Numbers = Annotated[tuple[Number, ...], Meta(max_length=2 * TRANSFERS_OPEN)]  # first, last, first, last, ...
# Number of the transfer of an envelope, whether it was sent before, its moves including this one, and a u16
# column with the failed deliveries of each message, plus 256 if it may have been delivered besides. An empty
# column means all 0.
MovingEntry = tuple[
    Number, bool, Annotated[int, Meta(ge=0, le=255)], Annotated[bytes, Meta(max_length=2 * ENVELOPE_MESSAGES)]
]


class Transfer(Command, frozen=True, tag=52):
    """Messages of a queue that move to the receiver.

    Each transfer is sent once on each connection until it is answered, and both ends store its number with
    the messages. Numbers of a node begin at 2⁴⁰ times the boot.

    Attributes:
        queue: Name of the queue.
        low: Lowest number of a transfer whose outcome is not yet on disk at the sender.
        frames: As in PUBLISH.
        entries: For each envelope: number of the transfer, whether it may have been sent before, how often it
            has moved, and for each message a u16 with its failed deliveries (plus 256 if it may have been
            delivered besides). An empty column: all 0.
        parting: Whether the sender holds them in memory only and is being drained.
    """

    word: ClassVar[str] = TRANSFERS

    queue: Annotated[str, Meta(max_length=LONGEST_QUEUE)]
    low: Number
    frames: tuple[Natural, ...]
    entries: Annotated[tuple[MovingEntry, ...], Meta(min_length=1, max_length=ENVELOPES_A_MESSAGE)]
    parting: bool = False


class Transferred(Command, frozen=True, tag=53):
    """Outcome of TRANSFER, as ranges of numbers (first, last, first, last, …).

    Attributes:
        queue: Name of the queue.
        taken: Transfers that the receiver keeps.
        refused: Transfers that stay at the sender and were not delivered here.
        unsure: Transfers that stay at the sender but may have been delivered here.
    """

    word: ClassVar[str] = TRANSFERS

    queue: Annotated[str, Meta(max_length=LONGEST_QUEUE)]
    taken: Numbers = ()
    refused: Numbers = ()
    unsure: Numbers = ()


# --- other sites -------------------------------------------------------------------------------------

# The name of a node, and its uuid if it is a gateway.
NodeName = Annotated[str, Meta(min_length=1, max_length=64)]
SiteNode = tuple[NodeName, Annotated[bytes, Meta(max_length=16)]]


class Site(Command, frozen=True, tag=60):
    """The nodes of the sender's site. It replaces the previous one.

    The first command on each connection, from both ends, and again after changes, at most once a second. A
    gateway may send only SITE, RELAY, RELAYED, BEHIND, SENDS, SENT, RESPOND, PING, BYE, PIECE, PIECEACK and
    UNKNOWN.

    Attributes:
        name: Name of that site.
        nodes: Name of each node that is alive, and its id if it is a gateway.
        leaving: Whether the site shuts down.
    """

    word: ClassVar[str] = SITES

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    nodes: Annotated[tuple[SiteNode, ...], Meta(max_length=SITE_NODES)] = ()
    leaving: bool = False


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


class Relayed(Command, frozen=True, tag=62):
    """Answers of another site.

    `CLOCK_AHEAD`, `TAILBACK_FULL`, `STORE_FULL`, `STORE`, `INBOX_FULL`, `WAY_LOST` and `SITE_UNREACHABLE` are
    not final. The master resends after 0.25 s, doubled up to 60 s.

    Attributes:
        site: Name of the site that answers.
        outcomes: The answers, by the streams of RELAY.
    """

    word: ClassVar[str] = SITES

    site: Annotated[str, Meta(min_length=1, max_length=64)]
    outcomes: tuple[Outcome, ...]


class Behind(Command, frozen=True, tag=63):
    """State of a site that the receiver reaches through the sender's site. It replaces the previous one.

    Attributes:
        name: Name of the site.
        state: `"up"`, `"down"`, `"paused"` or `"unreachable"`. Any other text counts as the last one.
        nodes: Names of its nodes that are alive.
    """

    word: ClassVar[str] = CHAINS

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    state: Annotated[str, Meta(max_length=16)] = "unreachable"
    nodes: Annotated[tuple[NodeName, ...], Meta(max_length=SITE_NODES)] = ()


# --- strata ------------------------------------------------------------------------------------------


class Follow(Command, frozen=True, tag=70):
    """The domains for which the sender wants to know strata. It replaces the previous one.

    Strata are shown to users; no routing depends on them.

    Attributes:
        domains: Names of domains. `"*"`: any domain that no rule names.
    """

    word: ClassVar[str] = STRATA

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
    """

    domain: Annotated[str, Meta(max_length=LONGEST_DOMAIN)]
    way: Annotated[tuple[Annotated[str, Meta(max_length=64)], ...], Meta(max_length=HOPS)] = ()
    latency: Natural = 0


class Strata(Command, frozen=True, tag=71):
    """Strata of the domains in FOLLOW, at once and after each change.

    Attributes:
        number: Number that grows. An older one is ignored.
        rows: One row for each domain.
    """

    word: ClassVar[str] = STRATA

    number: Natural
    rows: Annotated[tuple[Stratum, ...], Meta(max_length=FOLLOWED)] = ()


AnyCommand = (
    Hello | Challenge | Welcome | Refuse | Who | Ping | Pong | Bye | Peers | Login | Probe | ProbeFor
    | Probed | Rumours | States | Hear | Census | Piece | PieceAck | Publish | Answers | Items | Ack | Forward
    | Outcomes | Ways | Unknown | Interest | Interested | Subscribe | Unsubscribe | Call | Reply | Ended
    | Serving | Watch | Sends | Sent | Respond | Members | Heard | Consume | Settle | Transfer | Transferred
    | Site | Relay | Relayed | Behind | Follow | Strata
)  # fmt: skip

TAGS: dict[int, type[Command]] = {kind.__struct_config__.tag: kind for kind in get_args(AnyCommand)}
Reader = Callable[[bytes], AnyCommand]

# Commands that may fill a whole frame: lists of any length, most of them sent only by nodes, and pieces. A
# longer frame of another command is refused unread.
_LONG = (
    Welcome,
    Peers,
    Rumours,
    States,
    Piece,
    Answers,
    Items,
    Outcomes,
    Ways,
    Watch,
    Serving,
    Sent,
    Members,
    Transfer,
    Site,
    Relayed,
    Follow,
    Strata,
)
_LONG_ARRAY = b"\xdc"  # begins an array of more than 15 fields


class UnknownCommand(RemoteError):
    """A command that a later release may know: its tag, and its first field, if that is small and plain."""

    def __init__(self, tag: int, field: Any) -> None:
        super().__init__(f"no command has the tag {tag}", code="MALFORMED")
        self.tag = tag
        self.field = field


class _Strange(msgspec.Struct, array_like=True):
    tag: Natural
    field: msgspec.Raw = msgspec.Raw(b"\xc0")


def _checked(read: Reader, field: str, check: Callable[[Any], None] = check_plain) -> Reader:
    def checked(frame: bytes) -> AnyCommand:
        command = read(frame)
        try:
            check(getattr(command, field))
        except ValueError as error:
            raise malformed(frame, error) from error
        return command

    return checked


class _Readers(dict[bytes, Reader]):
    """The readers of commands by the tag byte. A frame with any other tag is read by `_strange`."""

    def __missing__(self, tag: bytes) -> Reader:
        return _strange


_read: Reader = reader(AnyCommand, CONTROL_FRAME)  # type: ignore[arg-type]
_read_call: Reader = reader(AnyCommand, CALL_FRAME)  # type: ignore[arg-type]
_read_long: Reader = reader(AnyCommand, FRAME)  # type: ignore[arg-type]
_read_interest: Reader = reader(AnyCommand, INTEREST_FRAME)  # type: ignore[arg-type]
_read_strange = reader(_Strange, FRAME)
_read_field = reader(object, FIELD)
_readers = _Readers({bytes((tag,)): _read_long if kind in _LONG else _read for tag, kind in TAGS.items()})
_readers[b"\x1b"] = _checked(_read, "field")
_readers[b"\x1e"] = _read_interest
_readers[b"\x22"] = _checked(_read_call, "arguments")
_readers[b"\x23"] = _checked(_read_call, "value")
_readers[b"\x32"] = _checked(_read_call, "held", check_held)
_readers[b"\x33"] = _checked(_read_call, "entries", check_settled)
_readers[b"\x34"] = _checked(_read_long, "entries", check_moving)
_readers[b"\x35"] = _read
for _field in ("taken", "refused", "unsure"):
    _readers[b"\x35"] = _checked(_readers[b"\x35"], _field, check_ranges)


def _strange(frame: bytes) -> AnyCommand:
    """Return a command whose tag is misplaced. Raises: UnknownCommand if no command has the tag."""
    strange = _read_strange(frame)
    if strange.tag in TAGS:
        return _readers[bytes((strange.tag,))](frame)
    raise UnknownCommand(strange.tag, _plain(bytes(strange.field)))


def _plain(raw: bytes) -> Any:
    """Return the value that `raw` encodes, or None if it is too large or not plain."""
    try:
        value = _read_field(raw)
        check_plain(value)
    except (RemoteError, ValueError):
        return None
    return value


def _bare(value: Any) -> str:
    """Return a text of a subclass of str, such as numpy's, as a plain str. Raises: TypeError."""
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"a {type(value).__name__} has no wire format")


# Encodes a command as the first frame of a message.
encode: Callable[[Command], bytes] = msgspec.msgpack.Encoder(enc_hook=_bare).encode


def decode(frame: bytes) -> AnyCommand:
    """Return the command in a first frame.

    Raises: UnknownCommand if a later release may have a command of that tag; otherwise RemoteError.
    """
    tag = frame[3:4] if frame[:1] == _LONG_ARRAY else frame[1:2]
    return _readers[tag](frame)
