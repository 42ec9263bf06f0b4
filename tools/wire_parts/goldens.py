"""The golden messages, whose bytes never change.

docs/wire-vectors.json has all of them.
"""

from msgspec.structs import replace

from mesh.discovery import lines
from mesh.discovery.state import NodeState
from mesh.features.queues.model.moves.queue_report import QueueReport
from mesh.features.queues.model.moves.transfer import BOOT
from mesh.features.queues.wire import Transfer, Transferred
from mesh.features.services.model.replies import refusal, replies
from mesh.features.sites.node.passing import leaving
from mesh.features.sites.wire import Behind, Relay, Relayed, Site
from mesh.features.transactions.wire import ACK, NACK, Commit, Settled
from mesh.features.where.wire import FollowNames, Names
from mesh.names import SENDS
from mesh.proof import attach_text, erasing_stream, prove, stream_text
from mesh.security.streamkey import StreamKey
from mesh.values import Headers, Hop
from mesh.wire import commands as c
from mesh.wire.envelope import ERASED, FORCE_QUEUING, INITIAL, ONE_SESSION, PERSISTENT, REQUEST, Envelope
from mesh.wire.frames import write
from mesh.wire.limits import SITES
from mesh.wire.packed import PackedEnvelopes
from mesh.wire.properties import Properties, encode_properties
from mesh.wire.serving import pack_numbers
from tools.models.messages import Sent, gathered

COOKIE = bytes(range(32))
ENDPOINT = "tcp://127.0.0.1:7710"
DIALLER, LISTENER = bytes([0xD0]) * 16, bytes([0xE0]) * 16  # nonces
SEED = bytes(range(0x20, 0x40))  # of the key that the stream is named after
KEY = StreamKey(SEED)
STREAM = KEY.id
HERON = c.Introduction(bytes(range(0xB0, 0xC0)), "heron", 3, ENDPOINT)
JOE = "/node/heron/client/joe/session/1"
CERTIFICATE = c.Certificate(
    JOE, KEY.public, 2, bytes(range(0xC0, 0xD0)), KEY.sign(attach_text(JOE, 2, bytes(range(0xC0, 0xD0))))
)
SWIFT = c.Introduction(bytes(range(0xC0, 0xD0)), "swift", 8, "")
CRANE = c.Introduction(
    bytes(range(0x60, 0x70)),
    "crane",
    2,
    "tcp://10.0.0.5:7710",
    ("tcp://[2001:db8::5]:7710",),
    "tcp://*:7711",
    bytes(range(0x70, 0x90)),
)
JOE = "/node/heron/client/joe/session/1"
TOKEN = bytes([0xF0]) * 32
NOON = 1_767_268_800_000_000_000  # 2026-01-01, 12:00 UTC, in ns since 1970
SOON = NOON + 60_000_000_000
TEMPERATURE = c.Query("pattern", "+/temp", "WEATHER")

ONE = Envelope(STREAM, "", 1, 1, ("greeting",), 1, 2, b"hi")
PROPS = encode_properties(Properties(Headers([("unit", "°C")]), expires=SOON))
READINGS = [
    Sent(5, "kitchen/temp", b"", b"21.5"),
    Sent(6, "cellar/temp", PROPS, b"9"),
    Sent(7, "kitchen/temp", b"", b"21.75"),
]
THREE = replace(
    gathered(READINGS, stamped=False), stream=STREAM, domain="WEATHER", flags=PERSISTENT, low=3, expires=SOON
)
HERE = Hop("heron", 0, NOON)
RELAYED = leaving(replace(THREE, sender=JOE).mastered(NOON, replace(HERE, stratum=0)), "LON", 3)
FORWARDED = replace(THREE, sender=JOE).passed(replace(HERE, stratum=1), NOON)  # straight to its master
STAMPED = FORWARDED.mastered(NOON, HERE)
PIECE = STAMPED.cut([0, 2])
LAST = replace(ONE, sender=JOE, flags=INITIAL).mastered(NOON, HERE)
LETTER = Envelope(
    STREAM, "", 2, 2, ("",), 1, 7, b"see you", flags=FORCE_QUEUING, low=2, to="client/ann/session/1"
)
LETTER_SENT = replace(LETTER, sender=JOE, to="/node/heron/client/ann/session/1").mastered(NOON, HERE)
WAITS = "waits at heron for swift (DOMAIN WEATHER, stratum 0)"
PARTLY = "swift took it, but crane refused it: the disk is full."
ERASURE = erasing_stream(STREAM)
GONE = Envelope(
    ERASURE, "", 6, 6, ("greeting",), 1, 0, b"", flags=ERASED, sender=JOE, route=(HERE,)
).mastered(NOON, HERE)

ASKED = Envelope(STREAM, SENDS, 1, 2, ("",), 2, 3, b"1+22/0", flags=REQUEST, to="calc/sum")
ASKED_HERE = replace(ASKED, sender=JOE).mastered(NOON, HERE)
ASKED_THERE = replace(ASKED, sender=JOE).passed(HERE, NOON)
ANN = "/node/swift/client/ann/session/1"
NO = encode_properties(Properties(code="NO_NUMBER"))
TOLD = [Sent(1, "", b"", b"3"), Sent(2, "", NO, b"2/0 is none")]
SAID = replace(gathered(TOLD, stamped=False), stream=STREAM, domain="")
(REPLIED,) = replies(SAID, ((1, 0), (2, 1)), STREAM, JOE, ANN, NOON)
LOST = refusal(STREAM, (2,), JOE, "HANDLER_LOST", "ann has gone.")
SUM = ("address", "calc/sum")
STOCK = QueueReport(250, 6, 1.5, ("priority > 3",), is_any=False)
GROUP = "printers\nWEATHER\n+/temp"
JOBS = "queue/jobs"
PUT = Envelope(
    STREAM, JOBS, 1, 3, ("",), 3, 4, b"job1job2job3", flags=PERSISTENT, to=JOBS, put=(7, 1500, "joe")
)
PUT_HERE = replace(PUT, sender=JOE).mastered(NOON, HERE)
SALE = PackedEnvelopes((PUT, ONE))  # of a transaction


STATE = NodeState(
    uuid=HERON.uuid, name="heron", boot=3, counter=9, wall=NOON, up=60.5, software="heronry 0.1.0",
    cpu=(90, 75.5), ram_free=1_000_000_000, ram_total=8_000_000_000, load=0.17, lag=0.0015, published=1200.0,
    delivered=0.0, pending=2, tailback=0, stored=5, sessions=1, subscriptions=4, links=2,
)  # fmt: skip
GOSSIP = lines.StateMessage(
    HERON.uuid, 3, 9, (lines.StateLine(HERON.uuid, 3, 9, STATE.encode()),), tombs=((SWIFT.uuid, 8),)
)


def hello(proof: bytes = b"", signature: bytes = b"") -> c.Hello:
    return c.Hello(
        (1, 2),
        c.CLIENT,
        "",
        DIALLER,
        proof,
        client="joe",
        session=1,
        stream=STREAM,
        signature=signature,
        key=KEY.public,
    )


SIGNATURE = KEY.sign(stream_text(DIALLER, LISTENER, ENDPOINT, HERON.uuid))


def welcome(proof: bytes = b"") -> c.Welcome:
    return c.Welcome(
        2, HERON, "default", proof, session=JOE, token=TOKEN, max_content=1 << 20, window=(4 << 20, 1024)
    )


GOLDENS: dict[str, list[bytes]] = {
    "hello-client": write(hello()),
    "welcome-client": write(welcome()),
    "challenge": write(c.Challenge(LISTENER, ENDPOINT, HERON.uuid)),
    "hello-proof": write(hello(prove(COOKIE, "dialler", DIALLER, LISTENER, ENDPOINT), SIGNATURE)),
    "welcome-proof": write(welcome(prove(COOKIE, "listener", DIALLER, LISTENER, ENDPOINT))),
    "refuse": write(
        c.Refuse("CLUSTER", "'joe' belongs to cluster 'x', this node to 'default'", "Say \"\" for any.", True)
    ),
    "refuse-full": write(
        c.Refuse(
            "NODE_FULL",
            "heron has 1 connection of clients, and the limit is 1 (node.max_connections)",
            "Dial a node with room.",
            forward=("tcp://10.0.0.5:7710",),
            retry_ms=250,
        )
    ),
    "who": write(c.Who()),
    "ping": write(c.Ping(1_234_567)),
    "pong": write(c.Pong(1_234_567)),
    "piece": write(c.Piece((3, 34, 1_048_576), b"the first bytes")),
    "piece-ack": write(c.PieceAck(131_072)),
    "bye-client": write(c.Bye("done")),
    "bye-node": write(c.Bye("stopping", ("tcp://127.0.0.1:7711",))),
    "unknown": write(c.Unknown(41, 7)),
    "publish-one": write(c.Publish((1,)), [ONE]),
    "publish-three": write(c.Publish((1,)), [THREE]),
    "answers": write(
        c.Answers((c.Answer("", 1, 500, "OK", 2), c.Answer("WEATHER", 5, 7, "STORE_FULL", text="No room.")))
    ),
    "answers-waiting": write(
        c.Answers((c.Answer("WEATHER", 5, 7, "FORWARD_WARNING", text=WAITS),))
    ),
    "answers-later": write(c.Answers((c.Answer("WEATHER", 5, 7, "OK", 3),))),
    "answers-partly": write(c.Answers((c.Answer("WEATHER", 5, 7, "PARTLY_REFUSED", text=PARTLY),))),
    "subscribe": write(c.Subscribe(1, 7, TEMPERATURE)),
    "subscribe-history": write(c.Subscribe(1, 7, TEMPERATURE, 50)),
    "reply-subscribe": write(c.Reply(1, {"subscription": 7})),
    "ended": write(c.Ended(7, "SLOW_CONSUMER", "subscription 7 did not keep up.")),
    "unsubscribe": write(c.Unsubscribe(2, 7)),
    "items-whole": write(c.Items(1, (c.ItemHead(1, 42, HERON.uuid, ((7, b""),)),)), [STAMPED]),
    "items-piece": write(
        c.Items(2, (c.ItemHead(1, 42, HERON.uuid, ((7, b""), (8, b"\1\0")), ((8, 3),)),)), [PIECE]
    ),
    "items-erased": write(c.Items(3, (c.ItemHead(1, 0, HERON.uuid, ((7, b""),)),)), [GONE]),
    "publish-to": write(c.Publish((1,)), [LETTER]),
    "publish-to-one": write(c.Publish((1,)), [replace(LETTER, flags=ONE_SESSION, to="client/ann")]),
    "subscribe-inbox": write(c.Subscribe(5, 0, c.Query("inbox", ""), False)),
    "items-inbox": write(c.Items(4, (c.ItemHead(1, master=HERON.uuid, targets=((0, b""),)),)), [LETTER_SENT]),
    "ack-client": write(c.Ack(2, ((7, 2), (8, 1)))),
    "consume": write(c.Consume(9, 3, "calc/sum", 64)),
    "consume-group": write(c.Consume(10, 4, GROUP, 16)),
    "reply-consume": write(c.Reply(9, {"epoch": 1})),
    "publish-request": write(c.Publish((1,), (5000,)), [ASKED]),
    "items-request": write(
        c.Items(5, (c.ItemHead(1, master=HERON.uuid, targets=((3, b""),), ttl=4990),)), [ASKED_HERE]
    ),
    "settle": write(c.Settle(3, 1, replied=(1, 2), frames=(1,)), [SAID]),
    "settle-done": write(c.Settle(3, 1, (1, 5, 7, 7))),
    "items-reply": write(
        c.Items(6, (c.ItemHead(1, master=HERON.uuid, targets=((2**32 - 1, b""),)),)), [REPLIED]
    ),
    "items-lost": write(
        c.Items(7, (c.ItemHead(1, master=HERON.uuid, targets=((2**32 - 1, b""),)),)), [LOST]
    ),
    "publish-put": write(c.Publish((1,)), [PUT]),
    "consume-queue": write(
        c.Consume(11, 5, JOBS, 256, selector="priority > 3", lease=30_000,
                  held=((STREAM, (4, 5, 9, 9)), (bytes(range(16)), (1, 1))))
    ),
    "reply-consume-queue": write(c.Reply(11, {"epoch": 7, "void": [3, 4]})),
    "items-queue": write(
        c.Items(8, (c.ItemHead(1, 43, HERON.uuid, ((5, b"\0\0\2\0"),), tries=b"\0\1"),)), [PUT_HERE]
    ),
    "settle-queue": write(
        c.Settle(5, 7, (1, 2, 5, 5), request=12,
                 entries=((6, 6, c.NACK, 2000, ""), (7, 7, c.REJECT, 0, "no such customer")))
    ),
    "reply-settle": write(c.Reply(12, [[5, 5, "LEASE_OVER"]])),
    "commit": write(
        Commit(13, 1, 1, settles=(Settled("jobs", 3, ACK, 0, False, STREAM, (5, 5)),), sizes=SALE.sizes),
        [SALE],
    ),
    "commit-settles": write(
        Commit(14, 2, 1, settles=(Settled("jobs", 3, NACK, 5000, True, STREAM, (6, 9)),))
    ),
    "reply-commit": write(c.Reply(13, [["OK", 1, ""], ["OK", 0, ""]])),
    "reply-commit-refused": write(c.Reply(14, 0, "LEASE_OVER", "no longer the session's [LEASE_OVER]")),
    "watch": write(c.Watch(1, True, add=(SUM,))),
    "serving": write(c.Serving(1, 1, (c.Row(*SUM, 2, "swift", SWIFT.uuid, 8),))),
    "serving-numbers": write(
        c.Serving(1, 1, (c.Row(*SUM, 2, "swift", SWIFT.uuid, 8, pack_numbers((4, 70_000))),))
    ),
    "serving-node": write(c.Serving(5, 7, (c.Row(*SUM, 2),))),
    "serving-queue": write(c.Serving(6, 7, (c.Row("queue", "jobs", 1, note=STOCK.pack()),))),
    "members": write(c.Members(1, ((GROUP, 2),))),
    "heard": write(c.Heard(1)),
    "transfer": write(
        Transfer("jobs", 3 * BOOT + 1, (1,), ((3 * BOOT + 2, True, 1, b"\1\0\0\1"),)),
        [PUT_HERE.cut([0, 2])],
    ),
    "transferred": write(Transferred("jobs", (3 * BOOT + 1, 3 * BOOT + 4), unsure=(3 * BOOT + 7,) * 2)),
    "hello-relay": write(
        c.Hello((1, 2), c.RELAY, "mesh of NYC", DIALLER, node=HERON, speaks=(SITES,), site="LON")
    ),
    "relay": write(Relay("NYC", (1,)), [RELAYED]),
    "relayed": write(Relayed("NYC", (c.Outcome(STREAM, c.Answer("WEATHER", 5, 7, "OK", 3)),))),
    "behind": write(Behind("NET2", "up", ("robin", "tern"))),
    "site": write(Site("LON", (("heron", HERON.uuid), ("swift", b"")))),
    "follow-names": write(FollowNames()),
    "names": write(
        Names(1, add=(("client", "client/joe"), ("queue", "orders")), remove=(("address", "calc/sum"),))
    ),
    "follow": write(c.Follow(("WEATHER", "*"))),
    "strata": write(
        c.Strata(7, (c.Stratum("WEATHER", ("frodo", "heron"), 420), c.Stratum("*")))
    ),
    "sends": write(c.Sends((1,), (4990,)), [ASKED_THERE]),
    "sent": write(c.Sent((c.Outcome(STREAM, c.Answer(SENDS, 1, 2, matched=1)),))),
    "respond": write(c.Respond((1,)), [REPLIED]),
    "call-get": write(c.Call(3, "get", {"kind": "exact", "text": "greeting", "domain": "", "fresh": False})),
    "reply-get": write(
        c.Reply(
            3, {"more": False, "missing": ["swift"], "sources": [["heron", None]], "away": []}, frames=(1,)
        ),
        [LAST],
    ),
    "call-erase": write(c.Call(6, "erase", {"key": "greeting", "domain": ""})),
    "reply-erase": write(c.Reply(6, {"erased": ["greeting"]})),
    "call-route": write(
        c.Call(7, "route", {"key": "kitchen/temp", "domain": "WEATHER", "to": "", "from": ""})
    ),
    "reply-route": write(c.Reply(7, {"steps": [
        {"node": "heron", "decision": "forward", "next": "swift", "why": "DOMAIN WEATHER, stratum 0"},
        {"node": "swift", "decision": "here", "next": "", "why": "DOMAIN WEATHER, stratum 0: master"},
    ]})),
    "call-events": write(c.Call(8, "events", {"after": 40})),
    "reply-events": write(c.Reply(8, {"events": [
        {"number": 41, "wall": NOON, "kind": "joined", "node": "swift", "uuid": SWIFT.uuid.hex(), "boot": 8,
         "text": "swift (boot 8) at an address of its own, found by hello"},
    ], "next": 41, "boot": 3})),
    "reply-error": write(c.Reply(4, code="UNKNOWN_VERB", text="no verb 'fly' [UNKNOWN_VERB]")),
    "hello-node": write(
        c.Hello((1, 2), c.NODE_DATA, "default", DIALLER, node=SWIFT, boot_seen=3, have=17, next=5,
                software="heronry 0.1.0")
    ),
    "peers": write(c.Peers((SWIFT, CRANE))),
    "login": write(c.Login()),
    "probe": write(c.Probe(12, SWIFT.uuid, 8)),
    "probed": write(c.Probed(12, rumours=(c.Rumour(CRANE, 0, "suspect", HERON.uuid),))),
    "probe-for": write(c.ProbeFor(13, SWIFT)),
    "probed-not": write(c.Probed(13, False)),
    "census-all": write(c.Census()),
    "census-some": write(c.Census((SWIFT.uuid,))),
    "rumours": write(c.Rumours((c.Rumour(SWIFT, 0, "left", SWIFT.uuid),))),
    "states": write(c.States(lines.encode(GOSSIP))),
    "hear": write(c.Hear(True)),
    "forward": write(c.Forward((1,)), [FORWARDED]),
    "moved": write(c.Moved(CERTIFICATE)),
    "ways-question": write(c.Ways(("bilbo", "frodo"))),
    "ways-answer": write(c.Ways((), (HERON,), lines.encode(GOSSIP))),
    "outcomes": write(c.Outcomes((c.Outcome(STREAM, c.Answer("WEATHER", 5, 7, "OK", 3)),))),
    "items-node": write(c.Items(18, (c.ItemHead(1, 42, HERON.uuid),)), [STAMPED]),
    "ack-node": write(c.Ack(18, ((0, 20),), ((HERON.uuid, 41),))),
    "interest": write(
        c.Interest(3, True, (TEMPERATURE, c.Query("exact", "greeting")), positions=((HERON.uuid, 42),))
    ),
    "interested": write(c.Interested(3)),
}  # fmt: skip
