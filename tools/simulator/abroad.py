"""Random direct messages and requests between sites, and the permissions for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from tools.simulator.casts import RUGBY, Cast
from tools.simulator.places import Place, Sends
from tools.simulator.script import Script
from tools.simulator.services import ADDRESSES, SERVED, server
from tools.simulator.steps import Step
from tools.simulator.workload import FIRST

SERVES = (("#",), ("calc/#",), ("calc/+", "print"), ("print",), ())
NOBODY = "node/nowhere/client/nobody/session/1"
TIMES = (0.3, 2.0, 5.0, 20.0)  # s until a request times out


def with_leave(cast: Cast, dice: Random) -> Cast:
    """Return `cast` with random permissions of each site for direct messages and requests of other sites."""
    sites = tuple(
        replace(place, sends=tuple(_with_leave(place, sends, dice) for sends in place.sends))
        for place in cast.sites
    )
    return replace(cast, sites=sites)


def _with_leave(place: Place, sends: Sends, dice: Random) -> Sends:
    clients = [f"{who}-{node}" for who in ("reader", "pub") for node in place.nodes]
    some = tuple(client for client in clients if dice.random() < 0.5)
    return replace(sends, letters=dice.choice([("#",), ("#",), some]), serves=dice.choice(SERVES))


def planned(script: Script, dice: Random) -> Iterator[Step]:
    """Yield all direct messages and requests between the sites of a scenario."""
    for place in script.cast.sites:
        for node in place.nodes:
            yield Step(0.0, "client", (f"reader-{node}", node))
            for name in (f"reader-{node}", f"pub-{node}"):
                yield Step(FIRST, "open inbox", (name,))
        yield from _served(script, dice, place)
        yield from _written(script, dice, place)
        yield from _asked(script, dice, place)


def _served(script: Script, dice: Random, place: Place) -> Iterator[Step]:
    """Yield servers at clients of `place`, which connect only to the nodes of that site."""
    home = replace(script, cast=replace(script.cast, nodes=place.nodes))
    for address in SERVED:
        for i in range(dice.choice([0, 1, 1, 2])):
            name = f"serve-{place.name}-{address}-{i}".replace("/", "-")
            begin = FIRST if dice.random() < 0.7 else dice.uniform(FIRST, script.seconds)
            yield from server(home, dice, name, address, begin, "local" if dice.random() < 0.1 else "")


def _written(script: Script, dice: Random, place: Place) -> Iterator[Step]:
    now, persistent, places = (
        FIRST + 3.0,
        dice.choice([0.3, 0.7, 1.0]),
        {p.name: p for p in script.cast.sites},
    )
    while now < script.seconds:
        client, other = f"pub-{dice.choice(place.nodes)}", places[dice.choice(place.knows)]
        to = f"/site/{other.name}/{_reader(dice, other)}"
        force = "force" if not to.endswith(NOBODY) and dice.random() < 0.6 else ""
        for _ in range(dice.choice([1, 1, 3, 10])):
            flag = "persistent" if dice.random() < persistent else "transient"
            yield Step(now, "send", (client, to, flag, force, RUGBY))
            now += dice.expovariate(20.0)
        now += dice.expovariate(1 / 2)


def _reader(dice: Random, other: Place) -> str:
    node = dice.choice(other.nodes)
    reader = f"node/{node}/client/reader-{node}"
    return dice.choice([f"{reader}/session/1"] * 6 + [reader] * 3 + [NOBODY])


def _asked(script: Script, dice: Random, place: Place) -> Iterator[Step]:
    name, now = f"ask-{place.name}", FIRST + 3.0
    yield Step(0.0, "client", (name, dice.choice(place.nodes)))
    while now < script.seconds:
        to = f"/site/{dice.choice(place.knows)}/{dice.choice(ADDRESSES + SERVED * 3)}"
        kind = dice.choice(["request", "request", "request", "tell", "tell", "gather"])
        count = 1 if kind == "gather" else dice.choice([1, 1, 3, 12])
        seconds = 0.0 if kind == "tell" and dice.random() < 0.7 else dice.choice(TIMES)
        yield Step(now, kind, (name, to, count, seconds, ""))
        if dice.random() < 0.1:
            yield Step(now + dice.random(), "break client", (name,))
        now += dice.expovariate(1 / 1.5)
