"""The starts and ends of machines in a generated history, in ticks, drawn at random."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

TICK = 2_000_000  # µs; how often a node publishes its state
RARE = 3 * 3600 * 1_000_000 // TICK  # mean ticks between two ends of one machine
YOUNG = 40  # least ticks of a boot
SHORT = 200  # ticks; shorter histories have no ends
WAITING = 5  # ticks until a silent node is called dead


class End(StrEnum):
    """The kinds of ends of a boot."""

    STOPPED = "stopped"  # with a goodbye, and complete counters
    KILLED = "killed"  # its closed port is noticed immediately
    SILENT = "silent"  # cut off: others detect it late
    GONE = "gone"  # killed for good; its last segment stays unfinished


@dataclass(frozen=True, slots=True)
class Life:
    """A boot of the machine `index`, which runs from the tick `start` to the tick `end`, both included."""

    index: int
    boot: int
    start: int
    end: int
    how: End
    at: int  # µs within the last tick


@dataclass(frozen=True, slots=True)
class Outage:
    """A planned outage: the machine ends at `tick`.

    The machine restarts `down` ticks later, or never if that is None.
    """

    tick: int
    how: End
    down: int | None


def draw(boots: Sequence[int], ticks: int, chance: random.Random) -> list[Life]:
    """Draw the boots of all machines in a history of `ticks` ticks.

    `boots` has the number of each machine's first boot.
    """
    return [
        life
        for index, boot in enumerate(boots)
        for life in _lives(index, boot, _outages(index, len(boots), ticks, chance), ticks, chance)
    ]


def _outages(index: int, count: int, ticks: int, chance: random.Random) -> list[Outage]:
    """Return the outages that every long history has, and some random ones."""
    if ticks < SHORT or count < 2:
        return []
    planned: list[Outage] = []
    if index == 1:
        planned.append(Outage(int(0.3 * ticks), End.KILLED, 5))
    if index == 2 % count:
        planned.append(Outage(int(0.6 * ticks), End.STOPPED, 8))
    if index == 4:  # this one flaps
        planned += [Outage(ticks // 2 + YOUNG * n, End.KILLED, 3) for n in range(4)]
    if index == count - 1 and count > 3:
        planned.append(Outage(int(0.85 * ticks), End.GONE, None))
    tick = int(chance.expovariate(1 / RARE))
    while tick < ticks:
        how = chance.choice((End.KILLED, End.KILLED, End.KILLED, End.STOPPED, End.STOPPED, End.SILENT))
        planned.append(Outage(tick, how, chance.randint(WAITING + 1, 60)))
        tick += int(chance.expovariate(1 / RARE)) + 1
    return sorted(planned, key=lambda outage: outage.tick)


def _lives(index: int, boot: int, outages: Sequence[Outage], ticks: int, chance: random.Random) -> list[Life]:
    """Return the boots between outages.

    Outages of young boots, or near the end of the history, are left out.
    """
    lives, start = [], 0
    for outage in outages:
        back = outage.tick + (outage.down or 0)
        if outage.tick - start < YOUNG or back > ticks - YOUNG:
            continue
        lives.append(Life(index, boot, start, outage.tick, outage.how, _moment(outage.how, chance)))
        if outage.down is None:
            return lives
        start, boot = back, boot + 1
    return [*lives, Life(index, boot, start, ticks - 1, End.STOPPED, _moment(End.STOPPED, chance))]


def _moment(how: End, chance: random.Random) -> int:
    """Return the µs within the last tick at which a boot ends.

    A goodbye comes after all other lines, a death at any time.
    """
    return 1_950_000 if how is End.STOPPED else chance.randint(300_000, 1_500_000)
