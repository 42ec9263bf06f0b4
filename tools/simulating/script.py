"""What is decided before a story begins? All of it, from a seed: so that it can be told again with less."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tools.simulating.casts import Cast
from tools.simulating.steps import Step
from tools.simulating.world.weather import FAIR, Wire

ENVELOPE = 3_000  # bytes of the largest one that is published, as credit counts them


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
    is_keyed: bool = False
    tells_states: bool = False  # do its nodes tell how they are, and what of that which all share they have?
    own: dict[str, dict[str, Any]] = field(default_factory=dict)  # settings of single nodes
    far: Wire = FAIR  # between sites
    has_descriptors: bool = False  # have connections descriptors, whose events are read late?

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.cast.nodes


def room_for(cast: Cast, window: int) -> int:
    """Bytes that may be under way to one reader: from each node, and from two publishers beside it."""
    return (len(cast.nodes) + 2) * (window + ENVELOPE)


def with_steps(script: Script, steps: tuple[Step, ...]) -> Script:
    """The same story with other steps."""
    return replace(script, steps=steps)
