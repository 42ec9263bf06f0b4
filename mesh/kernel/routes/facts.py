"""Facts about routes to other nodes."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.kernel.context.facts import Fact
from mesh.mapping.rules import Rule


@dataclass(frozen=True, slots=True)
class RulesChanged(Fact):
    """The rules of this node change: `rules` are next, or in force if `is_now`.

    `is_agreed` means that all live nodes have confirmed them. With `is_parent`, only next hops change, and
    each message keeps its master.
    """

    is_now: bool
    is_agreed: bool = False
    rules: tuple[Rule, ...] = ()
    is_parent: bool = False


@dataclass(frozen=True, slots=True)
class RouteLearned(Fact):
    """A question for the route to a node was answered.

    `way` is the neighbor on the route, or "" if no node that was asked has a route.
    """

    way: str
