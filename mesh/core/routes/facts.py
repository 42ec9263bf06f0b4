"""Facts about routes to other nodes."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.context.facts import Fact
from mesh.mapping.rules import Rule


@dataclass(frozen=True, slots=True)
class RulesChanged(Fact):
    """These rules are next, or with `is_now` in force. `is_agreed`: all live nodes have confirmed them."""

    is_now: bool
    is_agreed: bool = False
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class RouteLearned(Fact):
    """The question for the route to a node was answered: the neighbor, or "" if no node knows it."""

    way: str
