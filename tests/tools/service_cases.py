"""Histories of services that keep each promise, and some that break it."""

from mesh.names import SENDS
from tools.simulator.checks.facts import Facts
from tools.simulator.history import Event

S = "5" * 32
FACTS = Facts(("a", "b"), {"": ()})
ANN, BOB = "/node/a/client/ann/session/1", "/node/b/client/bob/session/1"
GROUP = "workers\n\nk"


def asked(flags: str = "r", at: float = 20.0, to: str = "calc") -> Event:
    stamp = int((at + 5.0) * 1e9) if "t" not in flags else 0
    return Event(
        at,
        "asked",
        "ann",
        stream=S,
        domain=SENDS,
        first=1,
        to=to,
        text="x",
        flags=flags,
        keys=(ANN, "a"),
        stamp=stamp,
    )


def came(at: float = 20.1, flags: str = "", route: tuple[str, ...] = ("a", "b"), text: str = "x") -> Event:
    keys = (BOB, "", "b")
    return Event(
        at, "came", "bob", stream=S, domain=SENDS, first=1, keys=keys, text=text, sub=1, flags=flags,
        to="calc", route=route,
    )  # fmt: skip


def said(state: str = "OK", at: float = 20.2) -> Event:
    return Event(at, "said", "ann", stream=S, domain=SENDS, first=1, last=1, text=state)


def ended(code: str = "OK", at: float = 20.3, reply: str = "") -> Event:
    keys, to = ((reply,), BOB) if reply else ((), "")
    return Event(at, "ended", "ann", stream=S, domain=SENDS, first=1, text=code, keys=keys, to=to)


def serving(kind: str = "serving", at: float = 1.0, to: str = "calc", flags: str = "q") -> Event:
    return Event(at, kind, "bob", sub=1, to=to, flags=flags, keys=(BOB, "b"), stamp=1)


def between(kind: str, who: str, other: str, boot: int, stamp: int) -> Event:
    return Event(20.0, kind, who, boot, stream=S, domain=SENDS, first=1, to="calc", text=other, stamp=stamp)


def published(at: float = 20.0) -> Event:
    return Event(at, "pub", "joe", stream=S, first=1, last=1, keys=("k",), text="x")


def taken(who: str = "bob", at: float = 20.1) -> Event:
    return Event(at, "came", who, stream=S, first=1, keys=(BOB, "k"), text="x", sub=1, to=GROUP)


OK = Event(20.1, "answer", "joe", stream=S, first=1, last=1, text="OK")
WRONG = Event(20.0, "wrong row", "a", to="calc", text="it knows {}, and {'b': 1} is so")
FAULT = Event(18.0, "fault", "b", text="kill")
MEMBER, END = serving(to=GROUP), Event(60.0, "healed", "")

SERVICES: dict[str, tuple[Facts, tuple[Event, ...], tuple[Event, ...]]] = {
    "AD1": (FACTS, (asked(), came()), (asked(), came(), came(20.2))),
    "AD2": (FACTS, (serving(), asked(), said(), serving("lapsed", 21.0)), (serving(), asked(), said())),
    "AD3": (
        FACTS,
        (serving(), FAULT, asked(), ended("NO_HANDLERS")),
        (serving(), asked(), ended("NO_HANDLERS")),
    ),
    "AD4": (FACTS, (FAULT, WRONG), (WRONG,)),
    "AD5": (
        FACTS,
        (between("chosen", "a", "b", 1, 7), between("reached", "b", "a", 7, 1)),
        (between("chosen", "a", "b", 1, 7), between("reached", "b", "a", 8, 1)),
    ),
    "AD6": (FACTS, (asked("rl"), came(route=("b",))), (asked("rl"), came())),
    "AD7": (FACTS, (asked(), ended()), (asked(), ended(at=26.0))),
    "AD8": (FACTS, (asked(), came(), said("HANDLER_LOST")), (asked(), came(), said("NO_HANDLERS"))),
    "AD9": (FACTS, (asked(), came(), ended(reply="x")), (asked(), came(), ended(reply="y"))),
    "AD10": (
        FACTS,
        (serving(), asked(), ended("TIMEOUT", 25.0)),
        (serving(), Event(19.0, "last", ""), asked(), ended("TIMEOUT", 25.0)),
    ),
    "GR1": (FACTS, (published(), taken()), (published(), taken(), taken("eve", 20.2))),
    "GR2": (FACTS, (MEMBER, published(), OK, taken(), END), (MEMBER, published(), OK, END)),
}
