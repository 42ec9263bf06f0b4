"""The machines of a generated history, and their differences."""

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
ASKED = 10  # most other masters that one node queries
LINKED = 32  # most other nodes that one node links
RTC_LOST = 30 * SECOND  # time shown after a start without a clock
FIRST, LAST = 100_000, 1_700_000  # µs of the first and last state


@dataclass(frozen=True, slots=True)
class Clock:
    """The error of a machine's clock, in µs.

    During the first `unset` µs of each boot, the clock shows 1970.
    """

    ahead: int = 0
    unset: int = 0

    def offset(self, at: int, began: int) -> int:
        """Return the offset from the true time `at`, in a boot that began at `began`."""
        return RTC_LOST - began if at - began < self.unset else self.ahead


@dataclass(frozen=True, slots=True)
class Topic:
    domain: str
    name: str
    share: float  # of the master's messages
    size: int  # bytes of a message


@dataclass(frozen=True, slots=True)
class Queue:
    name: str
    depth: float  # usual number of waiting messages
    size: int  # bytes of a message
    growth: float = 0.0  # messages per second


@dataclass(frozen=True, slots=True)
class Machine:
    """A node, for the whole history."""

    index: int
    name: str
    uuid: str
    cores: int
    ram: int  # bytes
    capacity: float  # most messages per second
    latency: float  # s until an answer when idle
    peak: float  # share of its capacity at the busiest hour
    busiest: int  # µs after midnight UTC
    asks: float  # requests per second at the busiest hour
    said_at: int  # µs within a tick
    clock: Clock
    topics: tuple[Topic, ...]
    queues: tuple[Queue, ...]
    first_boot: int

    def busy(self, at: int) -> float:
        """Return the used share of the machine's capacity at this time of the day, 0..1."""
        return self.peak * self.daily(at)

    def daily(self, at: int) -> float:
        """Return the share of the machine's peak at this time: 1 at the busiest hour, 0.2 at night."""
        return 0.6 + 0.4 * math.cos(2 * math.pi * (at - self.busiest) / DAY)


def draw(count: int, chance: random.Random) -> list[Machine]:
    """Draw `count` machines, reproducible from the state of `chance`."""
    return [_machine(index, count, chance) for index in range(count)]


def name_of(index: int) -> str:
    around, which = divmod(index, len(BIRDS))
    return f"{BIRDS[which]}-{around + 1}" if around else BIRDS[which]


def domain_of(index: int) -> str:
    return f"DOMAIN_{index // MASTERS + 1}"


def asked_by(index: int, count: int) -> list[int]:
    """Return at most ASKED masters that a node queries: the others of its domain and of the next domains."""
    first = index - index % MASTERS
    around = [(first + step) % count for step in range(min(count, ASKED + 1))]
    return [other for other in around if other != index][:ASKED]


def linked_to(index: int, count: int) -> list[int]:
    """Return at most LINKED nodes to which a node has a link, on both sides of it in the ring."""
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
    """Draw a clock: most are milliseconds off, a tenth minutes, one hours, and one is unset."""
    right = chance.randint(-5_000, 5_000)
    minutes = chance.choice((-1, 1)) * chance.randint(2 * MINUTE, 9 * MINUTE)
    if index == 3:
        return Clock(5 * HOUR + minutes)
    if index == 4:
        return Clock(right, unset=5 * MINUTE)
    return Clock(minutes if index % 10 == 1 else right)


def _topics(index: int, chance: random.Random) -> tuple[Topic, ...]:
    """Draw a few busy topics, and more quiet ones."""
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
