"""Facts about the definitions of spaces."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.features.spaces.model.definition import Definition
from mesh.kernel.context.facts import Fact


@dataclass(frozen=True, slots=True)
class SpaceDefinedFact(Fact):
    """A newer definition of a space is in effect."""

    space: str
    old: Definition | None
    new: Definition


@dataclass(frozen=True, slots=True)
class ClaimWonFact(Fact):
    """A definition of this node was accepted by `voters`, which were asked at the time `sent`."""

    space: str
    definition: Definition
    voters: tuple[bytes, ...]
    sent: float
