"""Histories of sites that keep each promise, and some that break it.

LON has a, which is its gateway, and b. NYC has c, which is its gateway.
"""

from dataclasses import replace

from mesh.features.sites.node.aliases import Aliases
from tools.simulator.checks.facts import Facts, SiteFacts
from tools.simulator.history import Event
from tools.simulator.places import Place, Sends, secret_of

LON = Place("LON", ("a", "b"), ("a",), sends=(Sends("NYC", ("D",)),))
NYC = Place("NYC", ("c",), ("c",), sends=(Sends("LON", domains=(), topics=("k/#",), dials=False),))
FACTS = Facts(
    ("a", "b", "c"),
    {},
    "sites",
    sites=(
        SiteFacts(LON, Facts(LON.nodes, {}), frozenset({"a", "b", "client ann", "asker-b"})),
        SiteFacts(NYC, Facts(NYC.nodes, {}, before=2), frozenset({"c", "client bob", "asker-c"})),
    ),
)
END = Event(300.0, "end", "a", text="alive")
PARTED = Event(100.0, "fault", "LON", text="sites parted", to="NYC")
STARTS = tuple(Event(0.0, "start", node, 1) for node in "abc")


def sees(at: float, who: str, to: str, nodes: str, text: str = "up", kind: str = "sees") -> Event:
    return Event(at, kind, who, 1, to=to, text=text, keys=tuple(nodes))


def saw(who: str, to: str, nodes: str, text: str = "up") -> Event:
    return sees(300.0, who, to, nodes, text, "saw")


SAW = (saw("c", "LON", "ab"), saw("a", "NYC", "c"), END)
BEGAN = (*STARTS, sees(5.0, "c", "LON", "ab"), sees(5.0, "a", "NYC", "c"))
LOST = tuple(sees(115.0, who, to, "", "unreachable") for who, to in (("a", "NYC"), ("c", "LON")))

# Messages of Ann in LON in domain D, which NYC receives, and of Bob in NYC, of which LON receives k/#.
S, T = "5" * 32, "6" * 32
S_THERE = Aliases(secret_of("NYC", "node")).here("LON", bytes.fromhex(S)).hex()
T_THERE = Aliases(secret_of("LON", "node")).here("NYC", bytes.fromhex(T)).hex()
SESSION = "/site/LON/node/a/client/ann/session/1"


def pub(number: int = 1, at: float = 50.0, key: str = "k/x", flags: str = "p") -> Event:
    event = Event(at, "pub", "client ann", stream=S, domain="D", first=number, last=number, flags=flags)
    return replace(event, keys=(key,), text=f"x{number}")


def by_bob(event: Event) -> Event:
    """Return the same event, published by Bob at NYC."""
    return replace(event, who="client bob", stream=T)


def ok(event: Event, at: float = 51.0, text: str = "OK") -> Event:
    return replace(event, at=at, kind="answer", text=text, keys=(), flags="")


def at_node(event: Event, kind: str, who: str, stream: str, at: float = 52.0, stamp: int = 7) -> Event:
    """Return the same event as that node accepts it, with this name of the stream."""
    return replace(event, at=at, kind=kind, who=who, boot=1, stream=stream, stamp=stamp)


def taken(event: Event, stream: str = S_THERE, who: str = "c") -> tuple[Event, ...]:
    return tuple(at_node(event, kind, who, stream) for kind in ("accept", "known"))


BOB_READS = (
    Event(40.0, "sub", "client bob", sub=1, keys=("#",)),
    Event(41.0, "confirmed", "client bob", sub=1, to="/node/c/client/bob/session/1"),
)


def given(event: Event, at: float = 53.0, sender: str = SESSION) -> Event:
    """Return the delivery of a message to Bob."""
    return replace(event, at=at, kind="deliver", who="client bob", stream=S_THERE, sub=1, to=sender)


def read(event: Event, who: str, stream: str) -> Event:
    return replace(event, at=290.0, kind="read", who=f"asker-{who}", stream=stream, sub=2, text="fresh")


SENT = (pub(), ok(pub()), *taken(pub(), S, "a"))
RELAYED = (*SENT, *taken(pub()))
TWO = (pub(), ok(pub()), pub(2), ok(pub(2)))
BOBS = at_node(by_bob(pub()), "accept", "c", T, stamp=9)
LATE = at_node(pub(), "accept", "c", S_THERE, at=80.0, stamp=8)
CROSSED = (by_bob(pub()), BOBS, pub(), LATE)
SITES = {
    "C6.1": (FACTS, RELAYED, SENT),
    "C6.3": (
        FACTS,
        (*STARTS, PARTED, pub(at=200.0), ok(pub(), at=204.0), END),
        (*STARTS, PARTED, pub(at=200.0), ok(pub(), at=206.0), END),
    ),
    "S-order": (
        FACTS,
        (*BOB_READS, *TWO, given(pub()), given(pub(2), at=54.0)),
        (*BOB_READS, *TWO, given(pub(2)), given(pub(), at=54.0)),
    ),
    "S-arrives": (FACTS, (*BOB_READS, pub(), ok(pub()), given(pub())), (*BOB_READS, pub(), ok(pub()))),
    "S-sender": (
        FACTS,
        (*BOB_READS, pub(), given(pub())),
        (*BOB_READS, pub(), given(pub(), sender="/site/LON/node/a/client/gateway/session/1")),
    ),
    "S-stamp": (FACTS, RELAYED, (*SENT, at_node(pub(), "accept", "c", S_THERE, stamp=8))),
    "S-conflict": (
        FACTS,
        (*TWO, read(pub(2), "b", S), read(pub(2), "c", S_THERE)),
        (*TWO, read(pub(2), "b", S), read(pub(), "c", S_THERE)),
    ),
    "S-kept": (
        FACTS,
        (*CROSSED, replace(LATE, at=81.0, stream="7" * 32, domain="", keys=("__sys__conflict/k/x@D",))),
        CROSSED,
    ),
    "S-views": (FACTS, SAW, (saw("c", "LON", "a"), *SAW[1:])),
    "S-seen": (FACTS, (*BEGAN, PARTED, *LOST, END), (*BEGAN, PARTED, LOST[0], END)),
}
