"""What is decided before a story begins? All of it, from a seed: so that it can be told again with less."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import merge
from random import Random
from typing import Any

from tools.simulating import nemesis, workload
from tools.simulating.casts import Cast, drawn
from tools.simulating.network import SPEED
from tools.simulating.profiles import Profile
from tools.simulating.steps import Step
from tools.simulating.weather import Wire

WIRES = (Wire(*SPEED), Wire(*SPEED), Wire(0.001, 0.02), Wire(0.02, 0.12))
WINDOWS: tuple[dict[str, Any], ...] = (
    {}, {"window_bytes": 900, "window_count": 6, "link_messages": 3},
    {"window_bytes": 3000, "window_count": 16, "backlog_bytes": 4000},
)  # fmt: skip
TAILBACKS: tuple[dict[str, Any], ...] = ({}, {}, {"tailback_count": 40}, {"tailback_ttl": 20.0})


@dataclass(frozen=True, slots=True)
class Script:
    """A mesh, and what befalls it and what it is asked, in order of time."""

    seed: int
    profile: str
    cast: Cast
    seconds: float
    wire: Wire
    disk: tuple[float, float]
    drifts: dict[str, float]
    settings: dict[str, Any]
    late: tuple[str, ...]  # nodes that a step starts
    clients: dict[str, str]  # those that are there from the beginning: name -> node
    steps: tuple[Step, ...] = field(default=())

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.cast.nodes


def written(seed: int, profile: Profile) -> Script:
    """The script of a seed."""
    dice = Random(f"script {profile.name} {seed}")
    cast = drawn(dice, dice.choice(profile.rules))
    seconds = profile.seconds[0] * (profile.seconds[1] / profile.seconds[0]) ** dice.random()
    settings = {**dice.choice(WINDOWS if profile.is_slow else WINDOWS[:2]), **dice.choice(TAILBACKS)}
    late = cast.nodes[3:] if cast.rules == "plain" and dice.random() < 0.4 else ()
    script = Script(
        seed, profile.name, cast, seconds, dice.choice(WIRES),
        dice.choice([(0.001, 0.01), (0.001, 0.01), (0.05, 0.3)]),
        {name: dice.choice([0.0, dice.uniform(-1e-3, 1e-3)]) for name in cast.nodes},
        settings, late, {f"pub-{name}": name for name in cast.nodes if name not in late},
    )  # fmt: skip
    return with_steps(script, tuple(_steps(script, profile, dice)))


def with_steps(script: Script, steps: tuple[Step, ...]) -> Script:
    """The same story with other steps."""
    return replace(script, steps=steps)


def _steps(script: Script, profile: Profile, dice: Random) -> Iterator[Step]:
    joins = [
        Step(nemesis.WARM_UP + dice.uniform(0, script.seconds / 2), "start", (name,)) for name in script.late
    ]
    work = sorted(workload.planned(script, profile, Random(dice.random())))
    faults = sorted(nemesis.planned(script, profile, Random(dice.random())))
    return merge(sorted(joins), work, faults)
