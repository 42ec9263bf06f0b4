"""The script of a scenario: everything is decided from the seed, so that a run can be repeated in part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tools.simulator.casts import Cast
from tools.simulator.steps import Step
from tools.simulator.world.weather import FAIR, Wire

LEAVES = ("drain node",)  # steps that send all clients of a node away
MOVES = ("move", "visit", "roam", "kill node", "cut client")  # steps that send a client to another node
ENVELOPE = 3_000  # bytes of credit; more than the messages of one step


@dataclass(frozen=True, slots=True)
class Script:
    """A mesh, its faults, and its workload, in order of time."""

    seed: int
    profile: str
    cast: Cast
    seconds: float
    wire: Wire
    disk: tuple[float, float]
    drifts: dict[str, float]
    settings: dict[str, Any]
    late: tuple[str, ...]  # nodes that a step starts
    clients: dict[str, str]  # clients from the beginning: name -> node
    steps: tuple[Step, ...] = field(default=())
    is_keyed: bool = False
    tells_states: bool = False  # whether nodes publish node states and shared rules
    own: dict[str, dict[str, Any]] = field(default_factory=dict)  # settings of single nodes
    far: Wire = FAIR  # between sites
    has_descriptors: bool = False  # whether connections have descriptors with delayed events

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.cast.nodes


def room_for(cast: Cast, window: int) -> int:
    """Return the bytes that may be in flight to one reader while no envelope is larger than ENVELOPE."""
    return windows(cast, window) + _sources(cast) * ENVELOPE


def windows(cast: Cast, window: int) -> int:
    """Return the bytes of the windows of all sources of one reader."""
    return _sources(cast) * window


def _sources(cast: Cast) -> int:
    """Return the number of sources of a reader: each node, and two more publishers."""
    return len(cast.nodes) + 2


def roaming(script: Script) -> frozenset[str]:
    """Return the clients that know several nodes, because a step moves them, or a node sends them away.

    In meshes with relays, only the profile `relays` moves clients.
    """
    if script.cast.rules not in ("plain", "direct") and script.profile != "relays":
        return frozenset()
    if sends_away(script):
        return frozenset((*script.clients, *_clients_of(script, ("client",))))
    return frozenset(_clients_of(script, MOVES))


def _clients_of(script: Script, kinds: tuple[str, ...]) -> Iterator[str]:
    return (str(step.args[0]) for step in script.steps if step.kind in kinds)


def sends_away(script: Script) -> bool:
    """Return whether nodes send clients away: they are drained, or full."""
    is_limited = any("max_connections" in settings for settings in script.own.values())
    return is_limited or any(step.kind in LEAVES for step in script.steps)


def with_steps(script: Script, steps: tuple[Step, ...]) -> Script:
    return replace(script, steps=steps)


def within(script: Script, seconds: float) -> Script:
    """Return the script without the steps after `seconds`."""
    steps = tuple(step for step in script.steps if step.at < seconds)
    return replace(script, seconds=min(script.seconds, seconds), steps=steps)
