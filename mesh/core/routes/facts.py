"""Facts about routes to other nodes."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.context.facts import Fact


@dataclass(frozen=True, slots=True)
class RulesChanged(Fact):
    """Other rules are next, or with `is_now` in force. `is_agreed`: all live nodes have confirmed them."""

    is_now: bool
    is_agreed: bool = False


@dataclass(frozen=True, slots=True)
class RouteLearned(Fact):
    """The question for the route to a node was answered: the neighbor, or "" if no node knows it."""

    way: str
