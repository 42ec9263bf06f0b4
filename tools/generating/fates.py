"""When does each machine of a made-up history start, and how does it end? In ticks, drawn from chance."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

TICK = 2_000_000  # µs; how often a node speaks of itself
RARE = 3 * 3600 * 1_000_000 // TICK  # ticks between two ends of one machine, on the average
YOUNG = 40  # ticks that a boot lives at least
SHORT = 200  # ticks; in a shorter history nobody ends before its end
WAITING = 5  # ticks until a node is said to be dead that went silent


class End(StrEnum):
    """The ways in which a boot ends."""

    STOPPED = "stopped"  # on purpose: it says goodbye, and its counters are complete
    KILLED = "killed"  # the others notice at once that nobody listens there
    SILENT = "silent"  # cut off: the others wait before they believe it
    GONE = "gone"  # killed, and never started again: its last segment stays unfinished


@dataclass(frozen=True, slots=True)
class Life:
    """One boot of the machine with this index. It lives in the ticks `start` .. `end`, both included."""

    index: int
    boot: int
    start: int
    end: int
    how: End
    at: int  # µs within the last tick


@dataclass(frozen=True, slots=True)
class Outage:
    """Planned: it ends at this tick, and starts again `down` ticks later; None: never."""

    tick: int
    how: End
    down: int | None


def draw(boots: Sequence[int], ticks: int, chance: random.Random) -> list[Life]:
    """The lives of all machines in a history of so many ticks; `boots`: each one's first boot number."""
    return [
        life
        for index, boot in enumerate(boots)
        for life in _lives(index, boot, _outages(index, len(boots), ticks, chance), ticks, chance)
    ]


def _outages(index: int, count: int, ticks: int, chance: random.Random) -> list[Outage]:
    """The outages that every history of some length has, and some by chance."""
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
    """No outage happens to a boot that is too young for it, nor too near to the end of the history."""
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
    """A goodbye comes after all that is said in a tick; a death at any time."""
    return 1_950_000 if how is End.STOPPED else chance.randint(300_000, 1_500_000)
