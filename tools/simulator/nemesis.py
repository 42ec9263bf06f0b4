"""The faults of a scenario: each seed enables some of them, at random rates (swarm testing).

Other functions plan faults in a fixed sequence for single profiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from tools.simulator.casts import TOPICS
from tools.simulator.profiles import Profile
from tools.simulator.script import Script
from tools.simulator.steps import Step
from tools.simulator.world.crashes import POINTS

WARM_UP = 8.0  # s before the first fault
ENABLED = 0.4  # probability of each fault in a scenario
SHORTLY, LONG = (0.05, 0.5, 1.0, 3.0), (8.0, 14.0, 30.0)
YEARS = 365.25 * 86400.0

Fault = Callable[[Random, Script, float], Iterator[Step]]


def planned(script: Script, profile: Profile, dice: Random) -> Iterator[Step]:
    """Yield the steps of the faults that `dice` enables, in turn."""
    possible = [name for name in FAULTS if not profile.faults or name in profile.faults]
    enabled = {name: 10 ** dice.uniform(-1, 1) for name in possible if dice.random() < ENABLED}
    interval = 10 ** dice.uniform(0.3, 1.3)
    now = WARM_UP + dice.expovariate(1 / interval)
    while enabled and now < script.seconds:
        (name,) = dice.choices(list(enabled), list(enabled.values()))
        yield from FAULTS[name](dice, script, now)
        now += dice.expovariate(1 / interval)


def _node(dice: Random, script: Script) -> str:
    return dice.choice(script.nodes)


def _pair(dice: Random, script: Script) -> list[str]:
    return dice.sample(script.nodes, 2)


def _while(dice: Random) -> float:
    return dice.choice(SHORTLY + LONG)


def crash(dice: Random, script: Script, now: float) -> Iterator[Step]:
    node = _node(dice, script)
    yield Step(now, "kill", (node,))
    yield Step(now + dice.choice([0.01, 0.2, 2.0, 14.0, 90.0]), "start", (node,))


def power(dice: Random, script: Script, now: float) -> Iterator[Step]:
    """Turn off a machine without notice to its peers, so that connections stay half-open."""
    node = _node(dice, script)
    yield Step(now, "power off", (node,))
    yield Step(now + dice.choice([1.0, 5.0, 20.0, 90.0]), "start", (node,))


def all_crash(dice: Random, script: Script, now: float) -> Iterator[Step]:
    for node in script.nodes:
        yield Step(now, "kill", (node,))
        yield Step(now + dice.uniform(0.1, 6.0), "start", (node,))


def bounce(dice: Random, script: Script, now: float) -> Iterator[Step]:
    node = _node(dice, script)
    yield Step(now, "close", (node,))
    yield Step(now + dice.choice([0.01, 0.5, 3.0, 30.0]), "start", (node,))


def crash_point(dice: Random, script: Script, now: float) -> Iterator[Step]:
    yield Step(now, "arm", (_node(dice, script), dice.choice(POINTS), dice.choice([0.01, 1.0, 10.0])))


def broken(dice: Random, script: Script, now: float) -> Iterator[Step]:
    yield Step(now, "break", tuple(_pair(dice, script)))


def broken_client(dice: Random, script: Script, now: float) -> Iterator[Step]:
    yield Step(now, "break client", (dice.choice(list(script.clients)),))


def cut(dice: Random, script: Script, now: float) -> Iterator[Step]:
    one, other = _pair(dice, script)
    yield Step(now, "cut", (one, other))
    yield Step(now + _while(dice), "mend", (one, other))


def one_way(dice: Random, script: Script, now: float) -> Iterator[Step]:
    one, other = _pair(dice, script)
    yield Step(now, "shut", (one, other))
    yield Step(now + _while(dice), "mend", (one, other))


def isolate(dice: Random, script: Script, now: float) -> Iterator[Step]:
    node, end = _node(dice, script), now + _while(dice)
    for other in script.nodes:
        if other != node:
            yield Step(now, "cut", (node, other))
            yield Step(end, "mend", (node, other))


def swizzle(dice: Random, script: Script, now: float) -> Iterator[Step]:
    """Cut off nodes one by one, and reconnect them in another order."""
    victims = dice.sample(script.nodes, dice.randint(2, len(script.nodes)))
    back = now + len(victims) + dice.uniform(1.0, 12.0)
    places = dice.sample(range(len(victims)), len(victims))
    for i, node in enumerate(victims):
        for other in script.nodes:
            if other != node:
                yield Step(now + i, "cut", (node, other))
                yield Step(back + places[i], "mend", (node, other))


def _wire(
    dice: Random, script: Script, now: float, low: float, high: float, loss: float, bandwidth: float
) -> Iterator[Step]:
    one, other = _pair(dice, script)
    yield Step(now, "wire", (one, other, low, high, loss, bandwidth))
    yield Step(now + dice.choice(LONG), "fair wire", (one, other))


def loss(dice: Random, script: Script, now: float) -> Iterator[Step]:
    return _wire(dice, script, now, 0.0002, 0.01, dice.choice([0.01, 0.05, 0.2]), 1e9)


def delay(dice: Random, script: Script, now: float) -> Iterator[Step]:
    return _wire(dice, script, now, 0.01, dice.choice([0.1, 0.5, 2.0]), 0.0, 1e9)


def narrow(dice: Random, script: Script, now: float) -> Iterator[Step]:
    return _wire(dice, script, now, 0.001, 0.01, 0.0, dice.choice([5e3, 2e4, 1e5]))


def pause(dice: Random, script: Script, now: float) -> Iterator[Step]:
    seconds = dice.choice([0.5, 1.0, 2.0, 3.0, 4.0, 10.0, 30.0, 60.0])
    yield Step(now, "pause", (_node(dice, script), seconds))


def jump(dice: Random, script: Script, now: float) -> Iterator[Step]:
    seconds = dice.choice([3600.0, -3600.0, 10 * YEARS, -10 * YEARS])
    node = _node(dice, script)
    yield Step(now, "set clock", (node, seconds))
    yield Step(now + dice.choice([5.0, 30.0]), "set clock", (node, 0.0))


def full(dice: Random, script: Script, now: float) -> Iterator[Step]:
    node, seconds = _node(dice, script), dice.choice([0.05, 1.0, 10.0])
    yield Step(now, "fill", (node, "reserve" if seconds >= 1.0 else ""))  # a real store has one
    yield Step(now + seconds, "make room", (node,))


def io_error(dice: Random, script: Script, now: float) -> Iterator[Step]:
    yield Step(now, "io error", (_node(dice, script),))


def rot(dice: Random, script: Script, now: float) -> Iterator[Step]:
    node = _node(dice, script)
    yield Step(now, "kill", (node,))
    yield Step(now + 0.1, "rot", (node,))
    yield Step(now + 0.2, "start", (node,))
    yield Step(now + dice.choice([3.0, 15.0]), "restore", (node,))


def old_copies(script: Script, dice: Random) -> Iterator[Step]:
    """Replace a store by an old copy, with which its node must refuse to continue."""
    now = WARM_UP + dice.uniform(0.0, 20.0)
    while now + 60.0 < script.seconds:
        node, age = _node(dice, script), dice.choice([6.0, 15.0, 30.0])
        yield Step(now, "copy", (node,))
        yield Step(now + age, "kill", (node,))
        yield Step(now + age + 0.1, "put back", (node,))
        yield Step(now + age + 0.2, "start", (node,))
        yield Step(now + age + dice.choice([3.0, 15.0]), "restore", (node,))
        now += age + dice.expovariate(1 / 60)


def erased_before_a_crash(script: Script, dice: Random) -> Iterator[Step]:
    """Stop a master after a topic was erased, so that its disk must know the erasure."""
    cast, now = script.cast, WARM_UP + dice.uniform(0.0, 10.0)
    while now + 10.0 < script.seconds:
        client, key, domain = (dice.choice(list(of)) for of in (script.clients, TOPICS, cast.domains))
        node = dice.choice(cast.masters_of(domain, key) or script.nodes)
        after = now + dice.choice([0.2, 1.0, 3.0])
        yield Step(now, "erase", (client, key, domain))
        yield Step(after, "kill", (node,))
        yield Step(after + dice.choice([0.05, 1.0, 5.0]), "start", (node,))
        now += 8.0 + dice.expovariate(1 / 12)


def full_for_a_moment(script: Script, dice: Random) -> Iterator[Step]:
    """Fill a slow disk for one commit while a client publishes, then stop the process.

    The disk has space for the next commit, but the process ends before that is on disk.
    """
    now = WARM_UP + dice.uniform(0.0, 5.0)
    while now + 10.0 < script.seconds:
        client, node = dice.choice(list(script.clients.items()))
        domain, slow = dice.choice(script.cast.domains), dice.choice([0.1, 0.2, 0.4])
        full = now + 1.0 + dice.random()
        end = full + slow * dice.uniform(0.5, 1.0)
        yield Step(now, "disk", (node, slow, slow))
        for n in range(60):
            yield Step(now + n / 20, "publish", (client, dice.choice(TOPICS), "persistent", domain, 10))
        yield Step(full, "fill", (node, ""))
        yield Step(end, "make room", (node,))
        yield Step(end + slow * dice.uniform(0.5, 2.5), "kill", (node,))
        yield Step(now + 5.0, "start", (node,))
        yield Step(now + 5.5, "fair disk", (node,))
        now += 8.0 + dice.expovariate(1 / 4)


def lies(script: Script, dice: Random) -> Iterator[Step]:
    """Make one node send arbitrary numbers until all faults are healed."""
    yield Step(WARM_UP + dice.uniform(0.0, 10.0), "lie", (_node(dice, script),))


def lost_with_its_master(script: Script, rest: float, dice: Random) -> Iterator[Step]:
    """Stop the masters of a retained value in memory, so that nodes with a cached copy must forget it."""
    now, cast = script.seconds - rest + 1.0, script.cast
    client, domain = dice.choice(list(script.clients)), dice.choice(cast.domains)
    for key in TOPICS:
        yield Step(now, "publish", (client, key, "transient", domain, 10))
    for master in cast.masters_of(domain, TOPICS[-1]):
        yield Step(now + 4.0, "kill", (master,))
        yield Step(now + 5.0, "start", (master,))


def slow_disk(dice: Random, script: Script, now: float) -> Iterator[Step]:
    node = _node(dice, script)
    yield Step(now, "disk", (node, 0.2, dice.choice([0.5, 2.0])))
    yield Step(now + dice.choice(LONG), "fair disk", (node,))


def advert(dice: Random, script: Script, now: float) -> Iterator[Step]:
    one, other = _pair(dice, script)
    yield Step(now, "advert", (one, other, dice.choice(["", "", "stale"])))


def stranger(dice: Random, script: Script, now: float) -> Iterator[Step]:
    yield Step(now, "stranger", (_node(dice, script),))


def namesake(dice: Random, script: Script, now: float) -> Iterator[Step]:
    if script.cast.rules == "plain":  # elsewhere it would be a next hop
        yield Step(now, "namesake", tuple(_pair(dice, script)))


FAULTS: dict[str, Fault] = {
    "crash": crash, "power": power, "all crash": all_crash, "bounce": bounce, "crash point": crash_point,
    "break": broken, "break client": broken_client, "cut": cut, "one way": one_way, "isolate": isolate,
    "swizzle": swizzle, "loss": loss, "delay": delay, "narrow": narrow, "pause": pause, "clock": jump,
    "full": full, "io error": io_error, "rot": rot, "slow disk": slow_disk, "advert": advert,
    "stranger": stranger, "namesake": namesake,
}  # fmt: skip
