"""Writes the script of a seed: mesh, faults and work, all random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import merge
from random import Random
from typing import Any

from tools.simulator import (
    abroad,
    drains,
    durables,
    nemesis,
    parts,
    queues,
    redirects,
    rules,
    services,
    sites,
    spaces,
    transactions,
    visits,
    workload,
)
from tools.simulator.casts import Cast, drawn
from tools.simulator.profiles import Profile
from tools.simulator.script import Script, room_for
from tools.simulator.steps import Step
from tools.simulator.world.network import SPEED
from tools.simulator.world.weather import Wire

WIRES = (Wire(*SPEED), Wire(*SPEED), Wire(0.001, 0.02), Wire(0.02, 0.12))
WINDOWS: tuple[dict[str, Any], ...] = (
    {},
    {"window_bytes": 900, "window_count": 6, "link_messages": 3},
    {"window_bytes": 3000, "window_count": 16, "backlog_bytes": 4000},
)
MEMORY: tuple[dict[str, Any], ...] = ({}, {"memory_bytes": 4000}, {"memory_bytes": 0})  # for waiting messages
TAILBACKS: tuple[dict[str, Any], ...] = ({}, {}, {"tailback_count": 40}, {"tailback_ttl": 20.0})


def written(seed: int, profile: Profile) -> Script:
    """Return the script of a seed, which is the same each time."""
    dice = Random(f"script {profile.seeded} {seed}")
    cast = _cast(dice, profile)
    seconds = profile.seconds[0] * (profile.seconds[1] / profile.seconds[0]) ** dice.random()
    settings = {**dice.choice(WINDOWS if profile.is_slow else WINDOWS[:2]), **dice.choice(TAILBACKS)}
    if profile.is_paced:
        settings |= {**WINDOWS[1], "backlog_bytes": room_for(cast, WINDOWS[1]["window_bytes"])}
    settings |= Random(f"memory {profile.seeded} {seed}").choice(MEMORY)
    settings |= {"adopts_parents": True} if cast.rules == "tree" else {}
    late = cast.nodes[3:] if cast.rules == "plain" and dice.random() < 0.4 else ()
    tells_states = any((profile.durables, profile.drains, profile.redirects, profile.spaces))
    if tells_states:
        late = ()  # a lone start misses new durable subscriptions, and limits are for all clients
    script = Script(
        seed,
        profile.name,
        cast,
        seconds,
        dice.choice(WIRES),
        dice.choice([(0.001, 0.01), (0.001, 0.01), (0.05, 0.3)]),
        {name: dice.choice([0.0, dice.uniform(-1e-3, 1e-3)]) for name in cast.nodes},
        settings,
        late,
        {f"pub-{name}": name for name in cast.nodes if name not in late},
    )
    if profile.parts:
        script = replace(script, own=parts.settings_of(script))
    if tells_states:  # node states report changes after a cut
        script = replace(script, tells_states=True)
    if profile.sites:
        cast = sites.with_little_room(cast, Random(f"room {profile.seeded} {seed}"))
        script = replace(script, cast=cast)
        if profile.abroad:
            cast = abroad.with_leave(cast, Random(f"leave {profile.seeded} {seed}"))
            script = replace(script, cast=cast)
        script = sites.with_far_wire(script, Random(f"far {profile.seeded} {seed}"))
    is_keyed = Random(f"keys {profile.seeded} {seed}").random() < profile.keyed
    steps = tuple(_steps(script, profile, dice))
    if profile.redirects:
        script = replace(script, own=redirects.settings_of(script, steps))
    return replace(script, steps=steps, is_keyed=is_keyed, has_descriptors=profile.has_descriptors)


def _cast(dice: Random, profile: Profile) -> Cast:
    if profile.sites:
        return sites.drawn(dice, profile.sites)
    if profile.rules == ("shared",):
        return rules.drawn(dice)
    cast = drawn(dice, dice.choice(profile.rules), profile.most, profile.sizes)
    return cast.dirty() if profile.is_dirty else cast


def _steps(script: Script, profile: Profile, dice: Random) -> Iterator[Step]:
    joins = [
        Step(nemesis.WARM_UP + dice.uniform(0, script.seconds / 2), "start", (name,)) for name in script.late
    ]
    work = sorted(_work(script, profile, Random(dice.random())))
    faults = sorted(nemesis.planned(script, profile, Random(dice.random())))
    own = Random(f"own {profile.seeded} {script.seed}")
    copies = nemesis.old_copies(script, own) if own.random() < profile.copies else ()
    erases = nemesis.erased_before_a_crash(script, own) if own.random() < profile.erases else ()
    lies = nemesis.lies(script, own) if own.random() < profile.lies else ()
    moments = nemesis.full_for_a_moment(script, own) if own.random() < profile.moments else ()
    rest = nemesis.lost_with_its_master(script, profile.rest, own) if profile.rest else ()
    own = Random(f"what is served {profile.seeded} {script.seed}")
    serves = sorted(services.planned(script, own)) if own.random() < profile.services else ()
    own = Random(f"what is put {profile.seeded} {script.seed}")
    puts = sorted(queues.planned(script, own)) if own.random() < profile.queues else ()
    own = Random(f"what moves {profile.seeded} {script.seed}")
    moves = sorted(parts.planned(script, own)) if own.random() < profile.parts else ()
    own = Random(f"what is kept {profile.seeded} {script.seed}")
    keeps = sorted(durables.planned(script, own)) if own.random() < profile.durables else ()
    own = Random(f"who moves {profile.seeded} {script.seed}")
    roams = sorted(visits.planned(script, own)) if own.random() < profile.visits else ()
    own = Random(f"who lies of visits {profile.seeded} {script.seed}")
    forges = sorted(visits.forged(script, own)) if own.random() < profile.forges else ()
    own = Random(f"which nodes empty {profile.seeded} {script.seed}")
    emptied = sorted(drains.planned(script, own)) if own.random() < profile.drains else ()
    own = Random(f"which nodes are full {profile.seeded} {script.seed}")
    sent = sorted(redirects.planned(script, own)) if own.random() < profile.redirects else ()
    own = Random(f"what is committed {profile.seeded} {script.seed}")
    committed = sorted(transactions.planned(script, own)) if own.random() < profile.transactions else ()
    own = Random(f"what is shared {profile.seeded} {script.seed}")
    shared = sorted(spaces.planned(script, own)) if own.random() < profile.spaces else ()
    own = Random(f"beside them {profile.seeded} {script.seed}")
    beside = sorted(sites.asides(script, own)) if profile.sites else ()
    own = Random(f"to whom {profile.seeded} {script.seed}")
    across = sorted(abroad.planned(script, own)) if own.random() < profile.abroad else ()
    own = Random(f"which rules {profile.seeded} {script.seed}")
    ruled = sorted(rules.planned(script, own)) if script.cast.rules == "shared" else ()
    more = (
        sorted(copies),
        sorted(erases),
        lies,
        sorted(moments),
        rest,
        serves,
        puts,
        moves,
        keeps,
        roams,
        forges,
        emptied,
        sent,
        committed,
        shared,
        ruled,
        beside,
        across,
    )
    return merge(sorted(joins), work, faults, *more)


def _work(script: Script, profile: Profile, dice: Random) -> Iterator[Step]:
    return sites.planned(script, dice) if profile.sites else workload.planned(script, profile, dice)
