"""Through which nodes does this one publish and ask? It says so in its signed state."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from discovery.state import WAYS
from mesh.core.desk.desk import Desk
from mesh.core.desk.facts import Hearing, hear
from mesh.core.desk.part import Beginning, Part
from mesh.core.states.facts import OurWaysChanged
from mesh.core.ways.facts import WayTold
from mesh.mapping.rules import Rule, has_several


class OwnWays(Part):
    """At most WAYS names: those that may send on what they get from here come first. Says OurWaysChanged."""

    def __init__(self, desk: Desk) -> None:
        self._onward, self._masters = by_rules(desk.settings.me.name, desk.settings.rules)
        self._by_word: OrderedDict[str, None] = OrderedDict()  # the way asked for last at the end
        self._desk = desk
        self.names = self._chosen()

    def hears(self) -> Sequence[Hearing]:
        return (hear(WayTold, lambda fact: self._found(fact.way) if fact.way else None),)

    def adopt(self, rules: Iterable[Rule]) -> None:
        """These rules count from now on."""
        self._onward, self._masters = by_rules(self._desk.settings.me.name, rules)
        self._choose()

    def _found(self, node: str) -> None:
        """A neighbour is the way to somebody, as it says: letters go by it from now on."""
        self._by_word[node] = None
        self._by_word.move_to_end(node)
        while len(self._by_word) > WAYS:
            self._by_word.popitem(last=False)
        self._choose()

    def _choose(self) -> None:
        names = self._chosen()
        if set(names) != set(self.names):
            self.names = names
            self._desk.say(OurWaysChanged())

    def start(self, beginning: Beginning) -> None:
        """Say what will not work."""
        left = self._onward[WAYS:]
        if left:
            text = (
                f"the rules name {len(self._onward)} ways, and others believe {WAYS}: what goes by "
                f"{', '.join(left[:WAYS])} may be refused as FORGED_SENDER"
            )
            self._desk.event("link", text, level="warning")

    def _chosen(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._onward, *reversed(self._by_word), *self._masters)))[:WAYS]


def by_rules(me: str, rules: Iterable[Rule]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The other nodes that rules name: those that send on, as ways do and each of several masters, and the
    masters that keep it, unless their own rules say otherwise.
    """
    divides = has_several(rules := tuple(rules))
    rules = tuple(rule for rule in rules if rule.node != me)
    onward = dict.fromkeys(rule.node for rule in rules if rule.stratum or divides)
    masters = dict.fromkeys(rule.node for rule in rules if rule.node not in onward)
    return tuple(onward), tuple(masters)
