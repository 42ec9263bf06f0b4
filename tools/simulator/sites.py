"""Random sites, their faults, and their workload."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from tools.simulator.casts import NAMES, RUGBY, STOCK, TOPICS, Cast, ruled
from tools.simulator.grammar import rules_of, territories
from tools.simulator.nemesis import WARM_UP
from tools.simulator.places import Place, Sends
from tools.simulator.script import Script
from tools.simulator.steps import Step
from tools.simulator.workload import FIRST, PATTERNS
from tools.simulator.world.weather import Wire

SITES = ("LON", "NYC", "SFO")
SIZES = (2, 2, 3)  # nodes of a site
DOMAINS = (RUGBY, STOCK)
SELECTED = (((RUGBY,), ()), ((RUGBY,), ("c/#",)), ((), ("a/#", "c/d/e")), ((STOCK, RUGBY), ()), ((), ("#",)))
FAR = (Wire(0.02, 0.03), Wire(0.04, 0.06, 0.01), Wire(0.1, 0.2), Wire(0.05, 0.4, 0.05, 5e4))
BACK = (5.0, 60.0, 300.0, 3600.0)  # s that a clock is set back
CUTS = (0.5, 5.0, 14.0, 40.0, 150.0)  # s
ROOM = (1500, 4000, 20_000)  # bytes that may wait, where space is small
IN_A_ROW = 24  # messages during which a gateway stops
ENOUGH = 400  # steps of one kind


# --- the cast -------------------------------------------------------------------------------------------


def drawn(dice: Random, sites: tuple[int, ...]) -> Cast:
    """Draw sites, each a mesh of its own.

    Either all sites are linked to each other, or they form a row, whose ends may know each other through the
    site in between.
    """
    names = SITES[: dice.choice(sites)]
    nodes = iter(NAMES)
    meshes = [_mesh(dice, tuple(next(nodes) for _ in range(dice.choice(SIZES)))) for _ in names]
    pairs = [(a, b) for a in names for b in names if a != b]
    via = ""
    if len(names) > 2 and dice.random() < 0.5:  # NYC links both; they link only NYC
        via = names[1] if dice.random() < 0.6 else ""
        pairs = [(a, b) for a, b in pairs if via or names[1] in (a, b)]
    sends = {
        pair: replace(one, dials=False, via=via) if via and via not in pair else one
        for pair, one in _sends(dice, pairs)
    }
    places = tuple(
        _place(dice, name, mesh, tuple(sends[pair] for pair in pairs if pair[0] == name))
        for name, mesh in zip(names, meshes, strict=True)
    )
    everybody = tuple(node for mesh in meshes for node in mesh.nodes)
    files = {node: rules for mesh in meshes for node, rules in mesh.files.items()}
    known = {node: others for mesh in meshes for node, others in mesh.known.items()}
    finds_by = "mdns" if dice.random() < 0.3 else "seeds"
    return Cast("sites", everybody, DOMAINS, finds_by, files, known, sites=places)


def _mesh(dice: Random, nodes: tuple[str, ...]) -> Cast:
    """Draw the mesh of one site.

    Where the rules are plain, the node where a message is published is its master.
    """
    if dice.random() < 0.2:
        return Cast("plain", nodes, DOMAINS, "seeds")
    found = list(territories(dice, nodes, DOMAINS, TOPICS, is_free=False))
    return ruled(nodes, DOMAINS, "seeds", found, rules_of(dice, nodes, found), meets_all=True)


def _place(dice: Random, name: str, mesh: Cast, sends: tuple[Sends, ...]) -> Place:
    gateways = tuple(sorted(dice.sample(mesh.nodes, dice.choice([1, 2]))))
    return Place(name, mesh.nodes, gateways, mesh.rules, mesh.masters, mesh.keys, sends)


def _sends(dice: Random, pairs: list[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], Sends]]:
    """Yield the topics that each of two sites sends to the other.

    At least one of the two dials.
    """
    for one, other in [pair for pair in pairs if pair[0] < pair[1]]:
        dials = dice.choice([(True, False), (False, True), (True, True)])
        for pair, does_dial in zip(((one, other), (other, one)), dials, strict=True):
            domains, topics = dice.choice(SELECTED)
            yield pair, Sends(pair[1], domains, topics, does_dial)


# --- faults ---------------------------------------------------------------------------------------------


def planned(script: Script, dice: Random) -> Iterator[Step]:
    """Yield the faults and the workload of all sites in a scenario."""
    yield from _worked(script, dice)
    faults = [fault for fault in FAULTS if dice.random() < 0.5]
    now = WARM_UP + dice.expovariate(1 / 4)
    for _ in range(ENOUGH if faults else 0):
        if now >= script.seconds:
            break
        yield from dice.choice(faults)(script, dice, now)
        now += 0.5 + dice.expovariate(1 / 10)


def _away(nodes: tuple[str, ...], dice: Random, now: float) -> Iterator[Step]:
    for node in nodes:
        yield Step(now, "kill", (node,))
        yield Step(now + dice.choice([0.01, 0.5, 3.0, 20.0, 60.0]), "start", (node,))


def _gateway(script: Script, dice: Random, now: float) -> Iterator[Step]:
    place = dice.choice(script.cast.sites)
    return _away((dice.choice(place.gateways),), dice, now)


def _gateways(script: Script, dice: Random, now: float) -> Iterator[Step]:
    return _away(dice.choice(script.cast.sites).gateways, dice, now)


def _master(script: Script, dice: Random, now: float) -> Iterator[Step]:
    place = dice.choice(script.cast.sites)
    masters = {node for nodes in place.masters.values() for node in nodes} or set(place.nodes)
    return _away((dice.choice(sorted(masters)),), dice, now)


def _parted(script: Script, dice: Random, now: float) -> Iterator[Step]:
    """Drop all packets between two sites, without notice."""
    one, other = dice.sample([place.name for place in script.cast.sites], 2)
    yield Step(now, "part sites", (one, other))
    yield Step(now + dice.choice(CUTS), "join sites", (one, other))


def _broken(script: Script, dice: Random, now: float) -> Iterator[Step]:
    one, other = dice.sample(script.cast.sites, 2)
    yield Step(now, "break", (dice.choice(one.gateways), dice.choice(other.gateways)))


def _split(script: Script, dice: Random, now: float) -> Iterator[Step]:
    """Cut off one node inside a site; it can still reach other sites."""
    place = dice.choice(script.cast.sites)
    alone, end = dice.choice(place.nodes), now + dice.choice(CUTS[:-1])
    for other in place.nodes:
        if other != alone:
            yield Step(now, "cut", (alone, other))
            yield Step(end, "mend", (alone, other))


def _set_back(script: Script, dice: Random, now: float) -> Iterator[Step]:
    node = dice.choice(script.nodes)
    yield Step(now, "set clock", (node, -dice.choice(BACK)))
    if dice.random() < 0.5:  # only a new process believes it
        yield from _away((node,), dice, now + 0.5)
    yield Step(now + dice.choice([10.0, 60.0]), "set clock", (node, 0.0))


def _amid(script: Script, dice: Random, now: float) -> Iterator[Step]:
    """Stop gateways at one or both of two sites while messages pass between the sites."""
    one, other = dice.sample(script.cast.sites, 2)
    client = dice.choice([name for name, node in script.clients.items() if node in one.nodes])
    domain, apart = dice.choice(DOMAINS), dice.choice([0.005, 0.02])
    for n in range(IN_A_ROW):
        yield Step(now + n * apart, "publish", (client, dice.choice(TOPICS), "persistent", domain, 10))
    moment = now + IN_A_ROW * apart * dice.random()
    ours, theirs = one.gateways[:1], other.gateways[:1]
    yield from _away(dice.choice([ours, theirs, ours + theirs, other.gateways]), dice, moment)


FAULTS = (_gateway, _gateways, _master, _parted, _broken, _split, _set_back)


# --- conflicts and missing values -----------------------------------------------------------------------


def asides(script: Script, dice: Random) -> Iterator[Step]:
    """Yield steps of some scenarios only: syncs, conflicting publishes, and stops while messages pass."""
    kinds = [kind for kind in (_wished, _crossed, _amid) if dice.random() < 0.5]
    now = WARM_UP + dice.expovariate(1 / 5)
    for _ in range(ENOUGH if kinds else 0):
        if now >= script.seconds:
            break
        yield from dice.choice(kinds)(script, dice, now)
        now += 1.0 + dice.expovariate(1 / 8)


def _wished(script: Script, dice: Random, now: float) -> Iterator[Step]:
    place = dice.choice(script.cast.sites)
    yield Step(now, "sync", (dice.choice(place.nodes), dice.choice(place.sends).to))


def _crossed(script: Script, dice: Random, now: float) -> Iterator[Step]:
    domain, key = dice.choice(DOMAINS), dice.choice(TOPICS)
    for place in script.cast.sites:
        client = dice.choice([name for name, node in script.clients.items() if node in place.nodes])
        flag = dice.choice(["persistent", "persistent", "transient"])
        yield Step(
            now + dice.choice([0.001, 0.05, 1.0]) * dice.random(), "publish", (client, key, flag, domain, 10)
        )


def with_little_room(cast: Cast, dice: Random) -> Cast:
    """Return `cast` unchanged or, at random, with small limits for waiting messages."""
    if dice.random() < 0.5:
        return cast
    room, rejects = dice.choice(ROOM), dice.random() < 0.3
    sites = (
        replace(place, sends=tuple(replace(each, max_bytes=room, rejects=rejects) for each in place.sends))
        for place in cast.sites
    )
    return replace(cast, sites=tuple(sites))


# --- workload -------------------------------------------------------------------------------------------


def _worked(script: Script, dice: Random) -> Iterator[Step]:
    for place in script.cast.sites:
        for i in range(dice.choice([1, 2])):
            name = f"sub-{place.name}-{i}"
            yield Step(0.0, "client", (name, dice.choice(place.nodes)))
            for n, domain in enumerate(DOMAINS):
                what = (dice.choice(PATTERNS), domain, dice.choice(["initial", ""]), -1.0)
                yield Step(FIRST, "listen", (name, f"{name}.{n}", *what))
    yield from _published(script, dice)
    yield from _read(script, dice)


def _published(script: Script, dice: Random) -> Iterator[Step]:
    """Yield publishes in bursts with pauses, often to the same topics at several sites."""
    now, persistent, rate = FIRST + 3.0, dice.choice([0.6, 0.9, 1.0]), dice.choice([0.3, 1.0, 3.0])
    for _ in range(ENOUGH):
        if now >= script.seconds:
            break
        for _ in range(dice.choice([1, 3, 10])):
            client = dice.choice(list(script.clients))
            keys = " ".join(dice.choice(TOPICS) for _ in range(dice.choice([1, 1, 1, 3, 10])))
            flag = "persistent" if dice.random() < persistent else "transient"
            yield Step(now, "publish", (client, keys, flag, dice.choice(DOMAINS), dice.choice([10, 10, 200])))
            now += dice.expovariate(4 * rate)
        now += dice.expovariate(rate / 3)


def _read(script: Script, dice: Random) -> Iterator[Step]:
    now, readers = FIRST + 5.0, list(script.clients)
    while now < script.seconds:
        what = (dice.choice(TOPICS), dice.choice(DOMAINS), dice.choice(["", "fresh"]))
        yield Step(now, "get", (dice.choice(readers), *what))
        now += dice.expovariate(1 / 10)


def with_far_wire(script: Script, dice: Random) -> Script:
    return replace(script, far=dice.choice(FAR))
