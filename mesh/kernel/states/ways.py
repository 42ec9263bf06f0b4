"""The nodes through which this one publishes and subscribes, as declared in its signed state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mesh.discovery.state import WAYS
from mesh.flow.bounded import Bounded
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.routes.facts import RouteLearned
from mesh.kernel.states.facts import OurWaysChanged
from mesh.mapping.rules import Rule, has_several


class OwnWays(Component):
    """The names of the nodes through which this one publishes and subscribes, at most WAYS.

    Nodes that forward our messages come first. A change publishes the fact OurWaysChanged.
    """

    def __init__(self, context: NodeContext) -> None:
        self._onward, self._masters = by_rules(context.settings.me.name, context.settings.rules)
        self._by_word = Bounded[str, None](WAYS)  # most recently used last
        self._context = context
        self.names = self._chosen()

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(RouteLearned, lambda fact: self._found(fact.way) if fact.way else None),)

    def apply_rules(self, rules: Iterable[Rule]) -> None:
        """Apply new rules."""
        self._onward, self._masters = by_rules(self._context.settings.me.name, rules)
        self._choose()

    def _found(self, node: str) -> None:
        """Add a neighbor that reaches another node, as direct messages may now leave through it."""
        self._by_word.keep(node, None)
        self._choose()

    def _choose(self) -> None:
        names = self._chosen()
        if set(names) != set(self.names):
            self.names = names
            self._context.facts.publish_fact(OurWaysChanged())

    def start(self, beginning: Beginning) -> None:
        """Report next hops beyond the limit, as other nodes may refuse messages through them."""
        left = self._onward[WAYS:]
        if left:
            text = (
                f"the rules name {len(self._onward)} next hops, but other nodes accept only "
                f"{WAYS}: messages through {', '.join(left[:WAYS])} may be refused as "
                "FORGED_SENDER"
            )
            self._context.event("link", text, level="warning")

    def _chosen(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._onward, *reversed(self._by_word), *self._masters)))[:WAYS]


def by_rules(me: str, rules: Iterable[Rule]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the other nodes in the rules: forwarders, and masters.

    Next hops forward messages, and so does each of several masters. A sole master keeps them, unless its own
    rules differ.
    """
    divides = has_several(rules := tuple(rules))
    rules = tuple(rule for rule in rules if rule.node != me)
    onward = dict.fromkeys(rule.node for rule in rules if rule.stratum or divides)
    masters = dict.fromkeys(rule.node for rule in rules if rule.node not in onward)
    return tuple(onward), tuple(masters)
