"""Profiles: which faults and which work go together."""

from __future__ import annotations

from dataclasses import dataclass

SIZES = (3, 3, 4, 5, 5, 7, 9)  # nodes of a mesh


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile of faults and work.

    `faults` may be enabled, each at random; () means all. `seconds` is the range for the length of a run.
    Fields of type float from `erases` on are probabilities.
    """

    name: str
    faults: tuple[str, ...] = ()
    rules: tuple[str, ...] = ("plain", "plain", "chain", "several")
    rate: float = 6.0  # messages per second in the whole mesh
    seconds: tuple[float, float] = (120.0, 600.0)
    is_slow: bool = False  # many slow readers, small windows
    is_paced: bool = False  # most readers make progress, and have enough credit
    rest: float = 0.0  # s after the last publish and crash
    erases: float = 0.0  # crashes after a topic is erased
    lies: float = 0.0  # one node sends arbitrary numbers
    keyed: float = 0.0  # the mesh has keys
    moments: float = 0.0  # slow disks are full just before a crash
    most: int = 9  # most nodes, where the rules are plain
    sizes: tuple[int, ...] = SIZES  # number of nodes, at most `most`
    services: float = 0.0  # addresses are served and requested
    queues: float = 0.0  # queues are used
    parts: float = 0.0  # queues at several nodes, with moves
    durables: float = 0.0  # there are durable subscriptions
    visits: float = 0.0  # clients that know several nodes move between them
    forges: float = 0.0  # nodes claim sessions of clients that move
    drains: float = 0.0  # nodes are drained with their clients
    redirects: float = 0.0  # nodes have few connections for clients
    transactions: float = 0.0  # clients commit transactions
    spaces: float = 0.0  # clients share maps, counters, tallies and locks
    sites: tuple[int, ...] = ()  # number of sites; () = one mesh only
    abroad: float = 0.0  # sites exchange direct messages and requests
    dice: str = ""  # name for the seeds; "" = `name`
    is_dirty: bool = False  # whether clients have dirty reads
    has_descriptors: bool = False  # whether descriptors identify connections, as in mesh/transport
    copies: float = 0.0  # a store is replaced by an old copy

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
        Profile("reparent",
                ("crash", "power", "cut", "isolate", "one way", "bounce", "pause", "break", "break client"),
                ("tree",), rate=3.0, seconds=(60.0, 150.0)),
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
        Profile("visit", (*WIRES, *STORES, "all crash", "bounce", "pause"), ("plain", "direct"), rate=1.0,
                seconds=(30.0, 90.0), most=4, sizes=(2, 3, 3, 4), visits=1.0, forges=0.2),
        Profile("relays", (*WIRES, *STORES, "all crash", "bounce", "pause"),
                ("chain", "chain", "tree", "several"), rate=1.0, seconds=(30.0, 90.0), most=4, visits=1.0),
        Profile("drain", (*WIRES, *STORES, "bounce", "pause"), ("plain", "direct"), rate=1.0,
                seconds=(40.0, 90.0), most=4, sizes=(2, 3, 3, 4), drains=1.0),
        Profile("redirect", (*WIRES, "crash", "power", "all crash", "bounce", "pause"), ("plain", "direct"),
                rate=1.0, seconds=(30.0, 60.0), most=4, sizes=(2, 3, 3, 4), redirects=1.0),
        Profile("transactions", (*WIRES, *STORES, "all crash", "bounce", "pause"), ("plain", "direct"),
                rate=0.5, seconds=(25.0, 60.0), most=3, sizes=(2, 2, 3), transactions=1.0),
        Profile("spaces", (*WIRES, *STORES, "all crash", "bounce", "pause"), ("plain", "direct"),
                rate=0.2, seconds=(40.0, 120.0), most=5, sizes=(2, 3, 3, 4, 5), spaces=1.0),
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
