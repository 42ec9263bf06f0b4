"""Histories of sites that keep each promise, and some that break it: LON has a, which is its gateway, and b;
NYC has c, which is its gateway."""

from tools.simulating.checks.facts import Facts, SiteFacts
from tools.simulating.history import Event
from tools.simulating.places import Place, Sends

LON = Place("LON", ("a", "b"), ("a",), sends=(Sends("NYC", ("D",)),))
NYC = Place("NYC", ("c",), ("c",), sends=(Sends("LON", topics=("k/#",), dials=False),))
FACTS = Facts(
    ("a", "b", "c"),
    {},
    "sites",
    sites=(
        SiteFacts(LON, Facts(LON.nodes, {}), frozenset({"a", "b", "client ann"})),
        SiteFacts(NYC, Facts(NYC.nodes, {}, before=2), frozenset({"c", "client bob"})),
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
SITES = {
    "S-views": (FACTS, SAW, (saw("c", "LON", "a"), *SAW[1:])),
    "S-seen": (FACTS, (*BEGAN, PARTED, *LOST, END), (*BEGAN, PARTED, LOST[0], END)),
}
