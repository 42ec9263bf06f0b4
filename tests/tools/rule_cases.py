"""Histories of changing rules that keep each promise, and some that break it: a, b and c are nodes."""

from dataclasses import replace

from tools.simulator.checks.facts import Facts
from tools.simulator.history import Event

FACTS = Facts(("a", "b", "c"), {}, "shared")
S = "s" * 32
PUT = Event(100.0, "rules put", "a", stamp=7, text="new", keys=("a=D",))
SAID = Event(101.0, "rules said", "a", stamp=7, text="OK")
HAVE = tuple(Event(101.0, "has rules", node, stamp=7, text="new") for node in "abc")
BY = tuple(Event(102.0, "goes by", node, text="new") for node in "abc")
END = Event(300.0, "end", "a", text="pending")
OLD = Event(50.0, "rules put", "a", stamp=3, text="old", keys=("b=D",))

SUB = Event(1.0, "sub", "client ear", sub=1, keys=("#",), domain="D")
READY = Event(2.0, "confirmed", "client ear", sub=1, to="/node/c/client/ear/session/1")
PUB = Event(103.0, "pub", "client pub-b", stream=S, domain="D", first=1, last=1, keys=("k",), flags="p")
OK = Event(104.0, "answer", "client pub-b", stream=S, domain="D", first=1, last=1, text="OK")
GIVEN = Event(105.0, "deliver", "client ear", sub=1, stream=S, domain="D", first=1, keys=("k",), flags="p")
CUT = Event(95.0, "fault", "c", text="cut", to="a")
OVER = Event(99.0, "over", "c", text="cut", to="a")
LAST = Event(90.0, "last", "")
AT_A = Event(104.0, "known", "a", stream=S, domain="D", first=1, last=1)

RULES = {
    "R-signed": (FACTS, (PUT, *HAVE), (PUT, *HAVE, Event(103.0, "has rules", "a", stamp=7, text="forged"))),
    "R-newest": (FACTS, (OLD, PUT, *HAVE, *BY, END), (OLD, PUT, *HAVE, *BY[1:], END)),
    "R-back": (
        FACTS,
        (OLD, PUT, *HAVE),
        (OLD, PUT, *HAVE, Event(110.0, "has rules", "a", stamp=3, text="old")),
    ),
    "R-admin": (FACTS, (PUT, SAID), (PUT, replace(SAID, text="WRONG_SIGNATURE"))),
    "R-once": (FACTS, (SUB, READY, PUB, OK, GIVEN), (SUB, READY, PUB, OK, GIVEN, replace(GIVEN, at=106.0))),
    "R-arrives": (FACTS, (SUB, READY, PUB, OK, GIVEN), (SUB, READY, PUB, OK)),
    "R-master": (FACTS, (LAST, PUT, PUB, OK, AT_A), (LAST, PUT, PUB, OK, replace(AT_A, who="b"))),
}
