"""What becomes known of ways to other nodes."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.desk.facts import Fact


@dataclass(frozen=True, slots=True)
class WayTold(Fact):
    """Others were asked for the way to a node: it is by that neighbour, or nobody knows it ("")."""

    way: str
