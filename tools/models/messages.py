"""Envelopes and commands for tests of the wire protocol, with a command of each kind."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from mesh.features.queues.wire import Transfer, Transferred
from mesh.features.sites.wire import Behind, Relay, Relayed, Site
from mesh.features.transactions.wire import COMMIT, NACK, Commit, Settled
from mesh.features.where.wire import FollowNames, Names
from mesh.values import Hop
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope

STREAM = bytes(range(16))
UUID = bytes(range(16, 32))
HERON = c.Introduction(
    UUID, "heron", 3, "tcp://10.0.0.5:7710", ("tcp://[2001:db8::5]:7710",), "tcp://*:7711", b"e" * 32
)
RUMOUR = c.Rumour(HERON, 2, "suspect", STREAM)
HERE = Hop("heron", 0, 10**18)
QUERY = c.Query("pattern", "sensors/+/temp", "WEATHER")
ITEM = c.ItemHead(1, 77, UUID, ((1, b""), (2, b"\x00\x00\x02\x00")), ((2, 5),), 1500)
JOB = c.ItemHead(1, 77, UUID, ((1, b"\x00\x00\x02\x00"),), tries=b"\x00\x01")
HELD = ((STREAM, (1, 4, 7, 7)), (UUID, (2, 2)))

# Each command once, with every field different from its default.
COMMANDS: tuple[c.Command, ...] = (
    c.Hello(
        (1, 2), c.CLIENT, "flock", b"n" * 16, b"p" * 32, HERON, "joe", -5, STREAM, b"t" * 32, 3, 4, 5,
        b"s" * 64, "heronry 0.1.0", "secret", 33, b"k" * 32,
    ),
    c.Challenge(b"m" * 16, "tcp://127.0.0.1:7710", UUID),
    c.Welcome(
        1, HERON, "flock", b"p" * 32, 3, 4, 5, "/node/heron/client/joe/session/1", b"t" * 32, 1 << 20, (8, 9),
        (HERON,), b"s" * 64, "secret", 33,
    ),
    c.Refuse("VERSION", "too old", "Upgrade the node and this client to the same release.", True),
    c.Who(),
    c.Ping(-1),
    c.Pong(1 << 40),
    c.Bye("stopping", ("tcp://127.0.0.1:7711",)),
    c.Peers((HERON, HERON)),
    c.Login(),
    c.Piece((3, 40, 1 << 20), b"bytes"),
    c.PieceAck(1 << 17),
    c.Probe(1, UUID, 3, (RUMOUR,)),
    c.ProbeFor(2, HERON, (RUMOUR,)),
    c.Probed(1, False, (RUMOUR, c.Rumour(HERON, 3, "alive"))),
    c.Rumours((RUMOUR,)),
    c.Census((UUID, STREAM)),
    c.States(b"gossip"),
    c.Ways(("frodo",), (), b"gossip"),
    c.Hear(True),
    c.Unknown(40, [7, "a"]),
    c.Publish((1, 2), (0, 5000)),
    c.Answers((c.Answer("WEATHER", 1, 500, "FORWARD_WARNING", 3, "no master"), c.Answer("", 501, 501))),
    c.Items(7, (ITEM, c.ItemHead(2))),
    c.Ack(12, ((1, 300), (2, 40)), ((UUID, 99), (STREAM, 1))),
    c.Forward((2, 1)),
    c.Outcomes(
        (c.Outcome(STREAM, c.Answer("WEATHER", 1, 500, "OK", 3, "so")), c.Outcome(UUID, c.Answer("", 7, 7)))
    ),
    c.Interest(4, True, (QUERY,), (QUERY, c.Query("inbox", "")), ((UUID, 88),), True),
    c.Interested(4),
    c.Moved(c.Certificate("/node/heron/client/joe/session/1", b"k" * 32, 2, HERON.uuid, b"s" * 64)),
    c.Subscribe(1, 2, QUERY, False, True, "drop_oldest", 1000),
    c.Ended(2, "SLOW_CONSUMER", "too slow"),
    c.Unsubscribe(2, 2),
    c.Call(3, "get", {"kind": "exact", "text": "a", "deep": [{"er": [1.5, None, b"x", True]}]}),
    c.Reply(3, {"more": False, "rows": [{"name": "heron", "rtt": 0.25}]}, "NO", "no such thing", (1,)),
    c.Serving(3, 2, (c.Row("address", "calc/add", 2, "heron", UUID, 3), c.Row("queue", "x", 0, note=b"x"))),
    c.Watch(2, True, True, (("address", "calc/add"),), (("address", "x"),)),
    c.Sends((1, 2), (5000, 0)),
    c.Sent((c.Outcome(STREAM, c.Answer("address/", 1, 5, "NO_HANDLERS", 3, "nobody")),)),
    c.Respond((1, 1)),
    c.Members(4, (("night\nBIRDS\n+/seen", 2), ("x\n\n#", 0))),
    c.Heard(4),
    Transfer("jobs", 1 << 40, (1,), (((1 << 40) + 1, True, 2, b"\x01\x01"),)),
    Transferred("jobs", (1, 4, 9, 9), (5, 6), (7, 7)),
    Commit(5, 2, 1, COMMIT, (Settled("jobs", 3, NACK, 5000, True, STREAM, (1, 4, 9, 9)),), (20, 5)),
    Relay("NYC", (2, 1)),
    Relayed("NYC", (c.Outcome(STREAM, c.Answer("WEATHER", 1, 500, "OK", 3, "so")),)),
    Behind("NET2", "down", ("robin",)),
    c.Follow(("WEATHER", "*")),
    FollowNames(),
    Names(2, True, (("client", "client/joe"),), (("queue", "orders"),)),
    c.Strata(7, (c.Stratum("WEATHER", ("frodo", "heron"), 420), c.Stratum("*"))),
    Site("LON", ((HERON.name, HERON.uuid), ("swift", b"")), True),
    c.Consume(4, 9, "queue/jobs", 64, True, 3, "unit == 'C'", 1000, HELD),
    c.Settle(9, 3, (1, 4, 7, 7), (5, 6), (1,), 5, ((8, 9, c.NACK, 100, "later"), (10, 10, c.EXTEND, 5, ""))),
)  # fmt: skip


@dataclass(frozen=True)
class Sent:
    """A message as its publisher sees it."""

    number: int
    key: str
    props: bytes
    content: bytes


def gathered(messages: Sequence[Sent], stamped: bool = True) -> Envelope:
    """Return the envelope that a client makes of consecutive messages.

    With `stamped`, the fields that nodes write are set, too.
    """
    keys = tuple(dict.fromkeys(m.key for m in messages))
    slices = [m.props + m.content for m in messages]
    sizes = array("I", map(len, slices))
    props = array("I", [len(m.props) for m in messages])
    envelope = Envelope(
        stream=STREAM,
        domain="WEATHER",
        first=messages[0].number,
        last=messages[-1].number,
        keys=keys,
        count=len(messages),
        sizes=sizes[0] if len(set(sizes)) == 1 else sizes.tobytes(),
        body=b"".join(slices),
        index=array("H", [keys.index(m.key) for m in messages]).tobytes() if len(keys) > 1 else b"",
        props=props.tobytes() if any(props) else 0,
        low=1,
    )
    return (
        replace(envelope, sender="/node/heron/client/joe/session/1").mastered(10**18, HERE)
        if stamped
        else envelope
    )


def messages_of(envelope: Envelope) -> list[Sent]:
    return [
        Sent(envelope.number(i), envelope.keys[envelope.row(i)], *envelope.message(i))
        for i in range(envelope.count)
    ]
