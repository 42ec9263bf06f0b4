"""Which faults and which work go together?"""

from __future__ import annotations

from dataclasses import dataclass

SIZES = (3, 3, 4, 5, 5, 7, 9)  # of a mesh


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile. `faults` are those that may be enabled, each by chance; () = all. `seconds` of a story."""

    name: str
    faults: tuple[str, ...] = ()
    rules: tuple[str, ...] = ("plain", "plain", "chain", "several")
    rate: float = 6.0  # messages a second, of the whole mesh
    seconds: tuple[float, float] = (120.0, 600.0)
    is_slow: bool = False  # many slow readers, small windows
    is_paced: bool = False  # most readers go on, and there is room for all that may be under way to them
    rest: float = 0.0  # s at the end in which a value is published, its master dies, and nothing follows it
    erases: float = 0.0  # how probable it is that crashes follow when a topic is erased
    lies: float = 0.0  # how probable it is that one node says any number to the others
    keyed: float = 0.0  # how probable it is that the mesh has keys
    moments: float = 0.0  # how probable it is that slow disks are full for a moment before a crash
    most: int = 9  # nodes, where the rules are plain
    sizes: tuple[int, ...] = SIZES  # drawn, up to that many
    services: float = 0.0  # how probable it is that addresses are served, and asked for
    queues: float = 0.0  # how probable it is that something is put into queues, and taken
    parts: float = 0.0  # the same, with parts at many nodes, between which messages move
    durables: float = 0.0  # how probable it is that there are durable subscriptions
    sites: tuple[int, ...] = ()  # so many; () = one mesh, which is no site
    abroad: float = 0.0  # how probable it is that sites write letters to each other, and ask each other
    dice: str = ""  # by which its stories are drawn, where that is not its name
    is_dirty: bool = False  # have clients of a node what goes to masters before these have it?
    has_descriptors: bool = False  # are connections followed by their descriptors, as in mesh/transport?
    copies: float = 0.0  # how probable it is that somebody puts an old copy of a store in its place

    @property
    def seeded(self) -> str:
        return self.dice or self.name


WIRES = ("cut", "one way", "isolate", "swizzle", "loss", "delay", "narrow", "break", "break client")
DISKS = ("crash point", "full", "io error", "rot", "slow disk", "crash", "power")
STORES = ("crash point", "full", "io error", "slow disk", "crash", "power")
PROFILES = {
    profile.name: profile
    for profile in (
        Profile("swarm"),
        Profile("disk", faults=(*DISKS, "bounce", "break client"), copies=0.3, erases=0.4),
        Profile("membership", (*WIRES, "crash", "power", "bounce", "pause", "advert", "stranger", "namesake"),
                ("plain",), rate=0.5, seconds=(300.0, 1200.0)),
        Profile("masters", rules=("chain", "several"), rate=8.0),
        Profile("drawn", rules=("drawn",), rate=8.0, seconds=(60.0, 240.0), erases=0.4, dice="rules"),
        Profile("rules", ("crash", "power", "cut", "isolate", "break", "pause"), ("shared",), rate=3.0,
                seconds=(25.0, 60.0), keyed=1.0),
        Profile("dirty", (*WIRES, "crash", "power", "bounce", "pause", "full"),
                ("chain", "drawn"), rate=8.0, seconds=(40.0, 120.0), is_dirty=True),
        Profile("liar", ("crash", "cut", "break", "break client", "full"), ("plain", "plain", "chain"),
                lies=1.0, keyed=0.5, seconds=(30.0, 120.0)),
        Profile("room", ("full", "crash point", "break client"), ("plain",), moments=1.0,
                seconds=(30.0, 60.0)),
        Profile("paced", ("advert",), rate=20.0, is_paced=True, seconds=(30.0, 60.0)),
        Profile("rest", ("crash", "cut", "break"), rules=("chain", "drawn"), rest=10.0,
                seconds=(30.0, 60.0)),
        Profile("services", (*WIRES, "crash", "power", "all crash", "bounce", "pause", "clock", "advert"),
                ("plain", "plain", "several"), rate=2.0, seconds=(40.0, 80.0), most=4,
                services=1.0),
        Profile("queues", (*WIRES, *STORES, "all crash", "bounce", "pause", "clock"), ("plain",), rate=0.5,
                seconds=(25.0, 60.0), most=2, queues=1.0),
        Profile("parts", (*WIRES, *STORES, "all crash", "bounce", "pause"), ("plain",), rate=0.3,
                seconds=(25.0, 60.0), most=4, sizes=(2, 2, 3, 3, 4), parts=1.0),
        Profile("durables", (*WIRES, *STORES, "all crash", "bounce", "pause"), ("plain", "several"), rate=1.0,
                seconds=(25.0, 60.0), most=4, sizes=(2, 3, 4), durables=1.0),
        Profile("sites", ("crash", "power", "bounce", "pause", "break client"), seconds=(30.0, 120.0),
                sites=(2, 2, 3)),
        Profile("abroad", ("crash", "power", "bounce", "pause", "break client"), seconds=(30.0, 80.0),
                sites=(2, 2, 3), abroad=1.0),
        Profile("slow", (*WIRES, "pause", "full", "slow disk", "crash"), rate=20.0, is_slow=True,
                seconds=(120.0, 240.0)),
        Profile("transport", ("crash", "bounce", "pause", "break", "break client", "stranger"), ("plain",),
                rate=2.0, seconds=(20.0, 40.0), most=4, has_descriptors=True),
    )
}  # fmt: skip
CIRCLES = Profile("circles", rules=("free",), rate=8.0, seconds=(60.0, 240.0))  # see docs/reliability.md
SHORT = Profile("short", seconds=(20.0, 40.0), services=0.2)  # for tests
