"""Which machines take part in a made-up history, and how do they differ?"""

import math
import random
from dataclasses import dataclass

SECOND = 1_000_000  # µs
MINUTE, HOUR, DAY = 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND
GIGABYTE = 1_000_000_000

CLUSTER = "lab"
BIRDS = (
    "heron",
    "stork",
    "egret",
    "ibis",
    "crane",
    "avocet",
    "curlew",
    "plover",
    "osprey",
    "bittern",
    "teal",
    "swan",
)
MASTERS = 5  # of one domain
ASKED = 10  # other masters that one node asks at most
LINKED = 32  # other nodes that one node has a link to at most
RTC_LOST = 30 * SECOND  # what a clock shows at the start of a machine that has lost the time
FIRST, LAST = 100_000, 1_700_000  # µs within a tick at which nodes speak of themselves


@dataclass(frozen=True, slots=True)
class Clock:
    """By how much a machine's clock is wrong, in µs. Within `unset` of each boot it shows 1970."""

    ahead: int = 0
    unset: int = 0

    def offset(self, at: int, began: int) -> int:
        """To be added to the true time `at`, in a boot that began at that time."""
        return RTC_LOST - began if at - began < self.unset else self.ahead


@dataclass(frozen=True, slots=True)
class Topic:
    domain: str
    name: str
    share: float  # of what the master takes
    size: int  # bytes of a message


@dataclass(frozen=True, slots=True)
class Queue:
    name: str
    depth: float  # messages that wait as a rule
    size: int  # bytes of a message
    growth: float = 0.0  # messages a second


@dataclass(frozen=True, slots=True)
class Machine:
    """One node, as long as the history lasts."""

    index: int
    name: str
    uuid: str
    cores: int
    ram: int  # bytes
    capacity: float  # messages a second that it can take at most
    latency: float  # s in which it answers when idle
    peak: float  # share of its capacity that is used at the busiest hour
    busiest: int  # µs after midnight UTC
    asks: float  # questions a second that it puts to others, at the busiest hour
    said_at: int  # µs within a tick
    clock: Clock
    topics: tuple[Topic, ...]
    queues: tuple[Queue, ...]
    first_boot: int

    def busy(self, at: int) -> float:
        """The share of its capacity that it uses at this time of the day, 0..1."""
        return self.peak * self.daily(at)

    def daily(self, at: int) -> float:
        """The share of its peak at this hour: 1 at the busiest, 0.2 at night."""
        return 0.6 + 0.4 * math.cos(2 * math.pi * (at - self.busiest) / DAY)


def draw(count: int, chance: random.Random) -> list[Machine]:
    """So many machines, the same for the same chance."""
    return [_machine(index, count, chance) for index in range(count)]


def name_of(index: int) -> str:
    around, which = divmod(index, len(BIRDS))
    return f"{BIRDS[which]}-{around + 1}" if around else BIRDS[which]


def domain_of(index: int) -> str:
    return f"DOMAIN_{index // MASTERS + 1}"


def asked_by(index: int, count: int) -> list[int]:
    """The masters that a node asks: those of its own domain and of the next ones, but itself."""
    first = index - index % MASTERS
    around = [(first + step) % count for step in range(min(count, ASKED + 1))]
    return [other for other in around if other != index][:ASKED]


def linked_to(index: int, count: int) -> list[int]:
    """The nodes that it has a link to, on both sides of it in the ring."""
    near = [side * step for step in range(1, LINKED // 2 + 1) for side in (1, -1)]
    others = dict.fromkeys((index + step) % count for step in near)
    return [other for other in others if other != index]


def _machine(index: int, count: int, chance: random.Random) -> Machine:
    name = name_of(index)
    cores = chance.choice((2, 4, 4, 8, 16))
    speed = chance.uniform(0.7, 1.4)  # of one core
    return Machine(
        index,
        name,
        chance.randbytes(16).hex(),
        cores,
        cores * 2 * GIGABYTE,
        capacity=round(900 * cores * speed, 1),
        latency=round(0.0016 / speed, 6),
        peak=chance.uniform(0.35, 0.85),
        busiest=int(chance.gauss(14, 1.5) * HOUR),
        asks=chance.uniform(5, 60),
        said_at=FIRST + (LAST - FIRST) * index // count,
        clock=_clock(index, chance),
        topics=_topics(index, chance),
        queues=_queues(index, name, chance),
        first_boot=chance.randint(1, 20),
    )


def _clock(index: int, chance: random.Random) -> Clock:
    """Most are within milliseconds of the truth; a tenth minutes off, one hours, one has lost the time."""
    right = chance.randint(-5_000, 5_000)
    minutes = chance.choice((-1, 1)) * chance.randint(2 * MINUTE, 9 * MINUTE)
    if index == 3:
        return Clock(5 * HOUR + minutes)
    if index == 4:
        return Clock(right, unset=5 * MINUTE)
    return Clock(minutes if index % 10 == 1 else right)


def _topics(index: int, chance: random.Random) -> tuple[Topic, ...]:
    """A few that are busy, and more that are not."""
    weights = [1 / rank for rank in range(1, chance.randint(6, 20))]
    return tuple(
        Topic(domain_of(index), f"plant/{index}/{rank}", weight / sum(weights), chance.randint(50, 2_000))
        for rank, weight in enumerate(weights)
    )


def _queues(index: int, name: str, chance: random.Random) -> tuple[Queue, ...]:
    def queue(number: int) -> Queue:
        growth = 0.4 if index == 0 and number == 0 else 0.0  # this one only grows
        at = f"session//node/{name}/client/joe-{number}/session/1"
        return Queue(at, chance.uniform(0.2, 40), chance.randint(100, 2_000), growth)

    return tuple(queue(number) for number in range(chance.randint(2, 8)))
