"""The commands: what the first frame of every message can say, as typed values.

Each is an array `[kind, field, …]`. A field added later goes to the end with a default, so that an
older peer ignores it and a newer one fills it in.
"""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, get_args

import msgspec
from msgspec import Meta

from discovery.state import Natural
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

NODE_CONTROL, NODE_DATA, CLIENT, RELAY = "control", "data", "client", "relay"  # what a connection is for

SECRETS = ("passwd", "token")
FIELD = 64  # bytes of the first field of an unknown command that go back to who has said it
NACK, REJECT, EXTEND = 1, 2, 3  # what may become of a message of a queue, beside that it is done


class Command(msgspec.Struct, frozen=True, array_like=True, tag_field="kind"):
    """Base of all commands."""

    word: ClassVar[str] = ""  # it is for those who have said this word

    def __repr__(self) -> str:
        # What is told to prove oneself does not belong in a log or a traceback.
        shown = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name not in SECRETS)
        return f"{type(self).__name__}({', '.join(shown)})"


class Introduction(msgspec.Struct, frozen=True, array_like=True):
    """A node as others name it."""

    uuid: bytes
    name: str
    boot: Natural
    address: str  # where its ROUTER can be dialled; "" = it only dials out
    also: tuple[str, ...] = ()  # the same on its other interfaces
    gossip: str = ""  # where its PUB is; "tcp://*:7711" = that port, at the host where it was reached
    key: bytes = b""  # its Ed25519 public key, in a mesh with keys
    metadata: msgspec.Raw = NOTHING  # text by names: what it says of itself, to those that it meets


# --- opening a connection ----------------------------------------------------------------------


class Hello(Command, frozen=True, tag=1):
    """First words of whoever dialled."""

    versions: tuple[int, int]  # oldest and newest wire version spoken
    role: str  # NODE_CONTROL, NODE_DATA, CLIENT or RELAY
    cluster: str  # of a gateway: that of the other site; "" from a client: any
    nonce: bytes
    proof: bytes = b""  # answer to a challenge
    node: Introduction | None = None  # of a node
    client: str = ""  # of a client: its name,
    session: int = 0  # its session number (0: give me one),
    stream: bytes = b""  # its stream id
    token: bytes = b""  # and what lets it resume
    boot_seen: Natural = 0  # boot of the other end that `have` counts from
    have: Natural = 0  # last item message received
    next: Natural = 1  # number of the next item message this side will send
    signature: bytes = b""  # of a node, in a mesh with keys, by its Ed25519 key; of a client by its stream's
    software: str = ""
    passwd: str = ""  # where the other end asks for one; never without CURVE
    alive: Natural = 0  # of a node: how many it counts as alive, itself included
    key: bytes = b""  # of a client: the public half of the Ed25519 key that its stream is named after
    process: bytes = b""  # of a node: drawn at the start of its process, so that two of one uuid differ
    speaks: tuple[str, ...] = ()  # what it understands beyond version 1
    named: bool = True  # of a client: somebody chose its name; else it has no inbox but that of its session
    site: str = ""  # of a gateway: the one that it is of
    wall: Natural = 0  # the time of its clock, in ns since 1970; 0: it does not say


class Challenge(Command, frozen=True, tag=2):
    """Prove that you can read the cookie."""

    nonce: bytes
    endpoint: str  # where the asker is bound; must be where you dialled
    uuid: bytes = b""  # of the asker: a client signs for this node, and for no other


class Welcome(Command, frozen=True, tag=3):
    """You are in."""

    version: int
    node: Introduction
    cluster: str
    proof: bytes = b""
    boot_seen: Natural = 0
    have: Natural = 0
    next: Natural = 1
    session: str = ""  # to a client: its absolute name,
    token: bytes = b""  # what to resume with,
    max_content: Natural = 0
    window: tuple[Natural, Natural] = (0, 0)  # bytes and envelopes that may be unanswered
    nodes: tuple[Introduction, ...] = ()  # whom else I know
    signature: bytes = b""  # in a mesh with keys: of the proof, by the node's Ed25519 key
    passwd: str = ""  # as in Hello: who dials may ask for one, too
    alive: Natural = 0  # as in Hello
    speaks: tuple[str, ...] = ()  # as in Hello
    wall: Natural = 0  # as in Hello


class Refuse(Command, frozen=True, tag=4):
    """You are not in, and why."""

    code: str
    reason: str
    hint: str = ""
    final: bool = False  # do not try again by yourself
    proof: bytes = b""  # as in Welcome; without it nobody knows who said that
    process: bytes = b""  # as in Hello: of a node of the same uuid,
    key: bytes = b""  # with its Ed25519 key,
    signature: bytes = b""  # which signs that it is another process


class Who(Command, frozen=True, tag=5):
    """I do not know this connection: say hello."""


# --- keeping it ------------------------------------------------------------------------------------


class Ping(Command, frozen=True, tag=6):
    stamp: int
    wall: Natural = 0  # as in Hello


class Pong(Command, frozen=True, tag=7):
    stamp: int


class Bye(Command, frozen=True, tag=8):
    """I go, on purpose."""

    reason: str = ""
    forward: tuple[str, ...] = ()  # addresses of other nodes


class Peers(Command, frozen=True, tag=9):
    nodes: tuple[Introduction, ...]


class Login(Command, frozen=True, tag=10):
    """Dial me the data connection: I need it and you are the one who can dial."""


class Piece(Command, frozen=True, tag=18):
    """The next bytes of a message that is too long to travel at once: of its frames, end to end."""

    sizes: tuple[Natural, ...]  # with the first piece: the length of each frame
    data: bytes


class PieceAck(Command, frozen=True, tag=19):
    """So many bytes of pieces have arrived on this connection."""

    taken: Natural


# --- who is there ------------------------------------------------------------------------------------


class Rumour(msgspec.Struct, frozen=True, array_like=True):
    """A word about a node: "alive", "suspect", "dead" or "left"; `by` is the uuid of its accuser."""

    node: Introduction
    incarnation: Natural
    state: str
    by: bytes = b""


class Probe(Command, frozen=True, tag=11):
    """Do you, that node in that boot, live?"""

    number: Natural
    uuid: bytes
    boot: Natural
    rumours: tuple[Rumour, ...] = ()


class ProbeFor(Command, frozen=True, tag=12):
    """Ask that node for me whether it lives."""

    number: Natural
    node: Introduction
    rumours: tuple[Rumour, ...] = ()


class Probed(Command, frozen=True, tag=13):
    """The answer to either: it lives; or, from who was to ask for us, it did not answer."""

    number: Natural
    lives: bool = True
    rumours: tuple[Rumour, ...] = ()


class Rumours(Command, frozen=True, tag=14):
    """News that should not wait for the next probe."""

    rumours: tuple[Rumour, ...]


class Census(Command, frozen=True, tag=17):
    """Tell me of these nodes, or of all, as far as you count them as alive: RUMOURS follow."""

    uuids: tuple[bytes, ...] = ()  # none = all


class States(Command, frozen=True, tag=15):
    """Gossip for somebody who cannot hear our PUB: the same bytes."""

    gossip: bytes


class Hear(Command, frozen=True, tag=16):
    """Send me your States on this link, or no more: I cannot hear your PUB, or can again."""

    wanted: bool


class Unknown(Command, frozen=True, tag=27):
    """You have said a command that I do not know, from version 2 of the wire on. Nobody answers this."""

    command: Natural  # its tag
    field: Any = None  # the first one after it, as it stood; None when it was large


# --- publishing ----------------------------------------------------------------------------------


class Publish(Command, frozen=True, tag=20):
    """Envelopes follow: for each, how many frames its body has."""

    frames: tuple[Natural, ...]
    ttls: tuple[U32, ...] = ()  # of each, the ms that its requests still have; 0 or none: as long as it takes


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """The answer to numbers `first`..`last` of a domain's stream."""

    domain: str
    first: Natural
    last: Natural
    state: str = "OK"  # OK, FORWARD_WARNING or the code of a refusal
    matched: Natural = 0  # subscriptions here and nodes elsewhere that it went to
    text: str = ""


class Answers(Command, frozen=True, tag=21):
    answers: tuple[Answer, ...]


class Forward(Command, frozen=True, tag=24):
    """Node to node: envelopes for their master, or for the next node on the way; `frames` as in Publish."""

    frames: tuple[Natural, ...]


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """An answer on its way back: to what one stream published."""

    stream: bytes
    answer: Answer


class Outcomes(Command, frozen=True, tag=25):
    outcomes: tuple[Outcome, ...]


class Ways(Command, frozen=True, tag=26):
    """Node to node, in a mesh with keys. With names: tell me whom these nodes name as their ways. Without:
    here are their newest states that I have, as they signed them."""

    word: ClassVar[str] = WAYS

    names: tuple[str, ...] = ()
    nodes: tuple[Introduction, ...] = ()
    gossip: bytes = b""  # the same bytes as in STATES


# --- delivering --------------------------------------------------------------------------------------


class ItemHead(msgspec.Struct, frozen=True, array_like=True):
    """One envelope on its way to a subscriber."""

    frames: Natural  # frames of its body
    position: Natural = 0  # in the log of its master; 0 = transient
    master: bytes = b""  # uuid of that master
    targets: tuple[tuple[U32, bytes], ...] = ()  # to a client: (subscription, u16 indices; empty = all)
    gaps: tuple[tuple[U32, U32], ...] = ()  # (subscription, messages that were dropped before this)
    ttl: U32 = 0  # ms that requests in it still had when it left; 0: as long as it takes
    # From a queue: how often each message that it names was given to somebody before; empty = none was.
    tries: Annotated[bytes, Meta(max_length=ENVELOPE_MESSAGES)] = b""


class Items(Command, frozen=True, tag=22):
    """Numbered per direction and pair of boots; envelopes follow."""

    seq: Natural
    heads: tuple[ItemHead, ...]


class Ack(Command, frozen=True, tag=23):
    """The count of what arrived, and may be forgotten. Cumulative; an older one changes nothing."""

    have: Natural  # item messages received
    taken: tuple[tuple[U32, Natural], ...] = ()  # client: (subscription, items used up since it was made)
    settled: tuple[tuple[bytes, Natural], ...] = ()  # node: (master, position up to which all is done)


# --- interest and queries ----------------------------------------------------------------------------


class Query(msgspec.Struct, frozen=True, array_like=True):
    """A wish: `kind` is "exact", "pattern", "inbox" (what is sent to me; no text) or "replies"."""

    kind: str
    text: str
    domain: str = ""


class Interest(Command, frozen=True, tag=30):
    """Node to node: what my clients want from you. `full` replaces all that was said before; what comes in
    parts has the same version in each, and `more` in all but the last."""

    version: Natural
    full: bool
    add: tuple[Query, ...] = ()
    remove: tuple[Query, ...] = ()
    positions: tuple[tuple[bytes, Natural], ...] = ()  # with full: (master, how far I have its log from you)
    more: bool = False


class Interested(Command, frozen=True, tag=31):
    version: Natural


class Subscribe(Command, frozen=True, tag=32):
    request: int
    subscription: U32  # chosen by the client, kept over reconnects
    query: Query
    initial: bool = True  # give me the retained values first
    resumed: bool = False  # I had it before: values I know are not initial any more
    overflow: str = ""  # what gives way when I do not keep up; "" = as the node likes
    max_queue: U32 = 0  # messages that may be under way, and as many waiting; 0 = as many as bytes allow


class Unsubscribe(Command, frozen=True, tag=33):
    request: int
    subscription: U32


class Ended(Command, frozen=True, tag=36):
    """A subscription of yours is over, and why; UNSUBSCRIBE says that you know."""

    subscription: U32
    code: str
    text: str


class Call(Command, frozen=True, tag=34):
    """A question with one reply: verb and arguments."""

    request: int
    verb: str
    arguments: dict[str, Any] = {}


class Reply(Command, frozen=True, tag=35):
    """The reply. `code` is empty when it went well; envelopes may follow, `frames` as in Publish."""

    request: int
    value: Any = None
    code: str = ""
    text: str = ""
    frames: tuple[Natural, ...] = ()


# --- services ----------------------------------------------------------------------------------------


class Watch(Command, frozen=True, tag=41):
    """Tell me, from now on, who serves these names there, each a (kind, name). `full` replaces all that was
    said before; what comes in parts has the same version in each, and `more` in all but the last."""

    word: ClassVar[str] = SERVICES

    version: Natural
    full: bool
    more: bool = False
    add: tuple[tuple[str, str], ...] = ()
    remove: tuple[tuple[str, str], ...] = ()


class Row(msgspec.Struct, frozen=True, array_like=True):
    """How many serve a name at a node, now. `node`: to a client, which one."""

    kind: str
    name: str
    consumers: Natural
    node: str = ""
    uuid: bytes = b""
    boot: Natural = 0
    note: Annotated[bytes, Meta(max_length=NOTE)] = b""  # to a node, of a queue: how its part there is doing


class Serving(Command, frozen=True, tag=40):
    """The news for who watches. Numbered from 1 on each connection: there are no holes. All rows of a name
    come together, and stand for all that was said of it before."""

    word: ClassVar[str] = SERVICES

    number: Natural
    knows: int  # version of the other end's WATCH that is taken up whole, -1 = none
    rows: tuple[Row, ...] = ()


class Sends(Command, frozen=True, tag=42):
    """Node to node: envelopes for those who serve an address there; `frames` and `ttls` as in Publish."""

    word: ClassVar[str] = SERVICES

    frames: tuple[Natural, ...]
    ttls: tuple[U32, ...] = ()


class Sent(Command, frozen=True, tag=43):
    """The answers to that: OK when somebody who serves it was given it."""

    word: ClassVar[str] = SERVICES

    outcomes: tuple[Outcome, ...]


class Respond(Command, frozen=True, tag=44):
    """Node to node: replies for clients there; `frames` as in Publish."""

    word: ClassVar[str] = SERVICES

    frames: tuple[Natural, ...]


class Members(Command, frozen=True, tag=45):
    """Node to node: how many members groups have here, each with its name, as in Consume. Numbered from 1 on
    each connection, with which all goes that was said on it."""

    word: ClassVar[str] = SERVICES

    number: Natural
    groups: tuple[tuple[str, Natural], ...] = ()


class Heard(Command, frozen=True, tag=46):
    """Node to node: I know your Members up to that number."""

    word: ClassVar[str] = SERVICES

    number: Natural


# What somebody still has of a queue: of each publisher's stream numbers, first, last, first, last, ...
Held = tuple[
    Annotated[bytes, Meta(min_length=16, max_length=16)],
    Annotated[tuple[FromOne, ...], Meta(max_length=2 * QUEUE_CREDIT)],
]
# Counts first to last, what becomes of them, after so many ms, and why.
Settled = tuple[
    U32, U32, Annotated[int, Meta(ge=NACK, le=EXTEND)], U32, Annotated[str, Meta(max_length=REASON)]
]


class Consume(Command, frozen=True, tag=50):
    """I serve that address, am a member of that group, or take from that queue: give me so many messages at
    once, at most, or with 0 no more. The name of a group is that, a domain and a pattern, each behind a line
    feed; that of a queue begins with `queue/`."""

    word: ClassVar[str] = SERVICES

    request: int
    subscription: U32  # chosen by the client, kept over reconnects
    address: str
    credit: U32
    local_only: bool = False  # only what is sent here
    begun: U32 = 2**32 - 1  # with credit 0: the last count that was begun; what came after goes to others
    selector: Annotated[str, Meta(max_length=SELECTOR)] = ""  # of a queue: only what it wants,
    lease: U32 = 0  # given to others after so many ms without a word; 0: never,
    # and what I still have from before. It has the counts from 1 up, in this order.
    held: Annotated[tuple[Held, ...], Meta(max_length=QUEUE_CREDIT)] = ()


class Settle(Command, frozen=True, tag=51):
    """What became of messages, by their counts since the epoch began, from 1 on."""

    word: ClassVar[str] = SERVICES

    subscription: U32
    epoch: Natural
    # First, last, first, last, ...: finished, and no reply.
    done: Annotated[tuple[U32, ...], Meta(max_length=2 * ADDRESS_CREDIT)] = ()
    # Finished, with the reply that is at the same place in the envelope.
    replied: Annotated[tuple[U32, ...], Meta(max_length=ENVELOPE_MESSAGES)] = ()
    frames: tuple[Natural, ...] = ()  # of that envelope, if there is one
    request: int = 0  # of a queue: tell me what was not ok, when the rest is on disk; 0: tell me nothing
    entries: Annotated[tuple[Settled, ...], Meta(max_length=QUEUE_CREDIT)] = ()  # of a queue: not just done


# --- parts of a queue at several nodes ---------------------------------------------------------------

Number = Annotated[int, Meta(ge=1, le=LARGEST_NUMBER)]
Numbers = Annotated[tuple[Number, ...], Meta(max_length=2 * TRANSFERS_OPEN)]  # first, last, first, last, ...
# The number of an envelope that moves, whether it was sent before, how often it has moved with this time, and
# of each message (u16) how often its delivery has failed, with 256 if it may have been given out besides;
# empty = none of that.
MovingEntry = tuple[
    Number, bool, Annotated[int, Meta(ge=0, le=255)], Annotated[bytes, Meta(max_length=2 * ENVELOPE_MESSAGES)]
]


class Transfer(Command, frozen=True, tag=52):
    """Node to node: messages of a queue that are to wait there from now on, if they are taken. `frames` as in
    Publish; each envelope has its entry."""

    word: ClassVar[str] = TRANSFERS

    queue: Annotated[str, Meta(max_length=LONGEST_QUEUE)]
    low: Number  # what became of all that has a lower one is on disk here
    frames: tuple[Natural, ...]
    entries: Annotated[tuple[MovingEntry, ...], Meta(min_length=1, max_length=ENVELOPES_A_MESSAGE)]
    # I have them in memory only, and am about to go: they are taken as soon as they are in yours.
    parting: bool = False


class Transferred(Command, frozen=True, tag=53):
    """What became of them, once for each that came on this connection, as ranges of numbers."""

    word: ClassVar[str] = TRANSFERS

    queue: Annotated[str, Meta(max_length=LONGEST_QUEUE)]
    taken: Numbers = ()  # they are mine
    refused: Numbers = ()  # they stay yours, and were given to nobody here
    unsure: Numbers = ()  # the same, but they may have been, before


# --- other sites -------------------------------------------------------------------------------------

# The name of a node, and its uuid if it is a gateway.
NodeName = Annotated[str, Meta(min_length=1, max_length=64)]
SiteNode = tuple[NodeName, Annotated[bytes, Meta(max_length=16)]]


class Site(Command, frozen=True, tag=60):
    """Gateway to gateway: who is in the site that I am of. It replaces what was said before."""

    word: ClassVar[str] = SITES

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    nodes: Annotated[tuple[SiteNode, ...], Meta(max_length=SITE_NODES)] = ()
    leaving: bool = False  # the site goes down


class Relay(Command, frozen=True, tag=61):
    """To a gateway, and from that to one of the other site: envelopes for `site`; `frames` as in Publish."""

    word: ClassVar[str] = SITES

    site: Annotated[str, Meta(min_length=1, max_length=64)]
    frames: tuple[Natural, ...]
    dropped: U32 = 0  # messages for it that were dropped before these, which nobody there was told


class Relayed(Command, frozen=True, tag=62):
    """The way back: what became of them in `site`."""

    word: ClassVar[str] = SITES

    site: Annotated[str, Meta(min_length=1, max_length=64)]
    outcomes: tuple[Outcome, ...]


class Behind(Command, frozen=True, tag=63):
    """Gateway to gateway: how it stands with a site that you may reach by mine. It replaces what was said."""

    word: ClassVar[str] = CHAINS

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    state: Annotated[str, Meta(max_length=16)] = "unreachable"  # or "up", or "down"
    nodes: Annotated[tuple[NodeName, ...], Meta(max_length=SITE_NODES)] = ()


# --- strata ------------------------------------------------------------------------------------------


class Follow(Command, frozen=True, tag=70):
    """Node to node: tell me, from now on, how far you are from the masters of these domains, and of no other
    ones. "*" is any domain that no rule names."""

    word: ClassVar[str] = STRATA

    domains: Annotated[
        tuple[Annotated[str, Meta(max_length=LONGEST_DOMAIN)], ...], Meta(max_length=FOLLOWED)
    ] = ()


class Stratum(msgspec.Struct, frozen=True, array_like=True):
    """The way of a node to the master of a domain: itself first, the master last; none: there is no way."""

    domain: Annotated[str, Meta(max_length=LONGEST_DOMAIN)]
    way: Annotated[tuple[Annotated[str, Meta(max_length=64)], ...], Meta(max_length=HOPS)] = ()
    latency: Natural = 0  # of a message on it, in microseconds


class Strata(Command, frozen=True, tag=71):
    """The answer, and what is new of it later. An older number than one that has come says nothing."""

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

# What only nodes say may fill a frame: it lists as much as there is. So may a piece. The rest is short, or
# refused unread.
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
_LONG_ARRAY = b"\xdc"  # begins a command of more than 15 fields; two bytes say how many


class UnknownCommand(RemoteError):
    """A command that a later release may know: its tag, and its first field, if that is small and plain."""

    def __init__(self, tag: int, field: Any) -> None:
        super().__init__(f"no command has the tag {tag}", code="MALFORMED")
        self.tag = tag
        self.field = field


class _Strange(msgspec.Struct, array_like=True):
    """The part of a command that can be read whatever it says."""

    tag: Natural
    field: msgspec.Raw = msgspec.Raw(b"\xc0")


def _checked(read: Reader, field: str, check: Callable[[Any], None] = check_plain) -> Reader:
    """A reader that refuses what is wrong in that field: what is not plain, where any value may stand."""

    def checked(frame: bytes) -> AnyCommand:
        command = read(frame)
        try:
            check(getattr(command, field))
        except ValueError as error:
            raise malformed(frame, error) from error
        return command

    return checked


class _Readers(dict[bytes, Reader]):
    """By the byte that is the tag, as far as it can be seen at a glance."""

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
    """A command whose tag is not where it should be, or known to nobody here."""
    strange = _read_strange(frame)
    if strange.tag in TAGS:
        return _readers[bytes((strange.tag,))](frame)
    raise UnknownCommand(strange.tag, _plain(bytes(strange.field)))


def _plain(raw: bytes) -> Any:
    """The value that these bytes are; None when it is large, or nothing that could be sent back."""
    try:
        value = _read_field(raw)
        check_plain(value)
    except (RemoteError, ValueError):
        return None
    return value


def _bare(value: Any) -> str:
    """A text of a class of its own, such as numpy's, as others are. TypeError."""
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"nobody knows how a {type(value).__name__} is written")


# The first frame.
encode: Callable[[Command], bytes] = msgspec.msgpack.Encoder(enc_hook=_bare).encode


def decode(frame: bytes) -> AnyCommand:
    """The command in a first frame; UnknownCommand when a later release may have one of that tag, RemoteError
    for anything else."""
    tag = frame[3:4] if frame[:1] == _LONG_ARRAY else frame[1:2]
    return _readers[tag](frame)
