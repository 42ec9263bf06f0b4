"""What becomes known of ways to other nodes."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.desk.facts import Fact


@dataclass(frozen=True, slots=True)
class Ruled(Fact):
    """Other rules are to count, or `is_now` do; `is_agreed`: all who are alive have said that they know."""

    is_now: bool
    is_agreed: bool = False


@dataclass(frozen=True, slots=True)
class WayTold(Fact):
    """Others were asked for the way to a node: it is by that neighbour, or nobody knows it ("")."""

    way: str
