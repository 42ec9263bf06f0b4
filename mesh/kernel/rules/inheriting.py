"""Takes over the retained values of topics whose master this node becomes when the rules change."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.kernel.asking.erasing import Erasing
from mesh.kernel.asking.lookup import Lookup
from mesh.kernel.asking.lookup_result import LookupResult
from mesh.kernel.context.component import Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_clock import AHEAD
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.routes.facts import RulesChanged
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import DOMAIN, EXACT, PATTERN, XPATH, KeyRule
from mesh.patterns import SYSTEM
from mesh.routing.log import Log
from mesh.routing.retained_value import RetainedValue, last_values
from mesh.wire.commands import Query
from mesh.wire.limits import XPATH as BY_XPATH

# Law 1: a value is placed by its own timestamp, so a newer value published here stays.
# Law 2: only masters by the old rules are asked. Only values of which this node is master by the new ones
# are taken over.

ASKED = (6.0, 20.0, 50.0)  # s after the change; late ones reach disconnected nodes
KINDS = {EXACT: "exact", PATTERN: "pattern", XPATH: BY_XPATH}


class Inheriting(Component):
    """Component that asks for the values as a client does, while both sets of rules are in use."""

    def __init__(
        self, context: NodeContext, mapping: Mapping, lookup: Lookup, erasing: Erasing, log: Log, disk: Disk
    ) -> None:
        self._context = context
        self._disk = disk
        self._mapping = mapping
        self._lookup = lookup
        self._erasing = erasing
        self._log = log
        self._before: frozenset[KeyRule] = frozenset()
        self._queries: tuple[Query, ...] = ()
        self._due: list[float] = []  # when to ask, last one first

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(RulesChanged, self._on_rules),)

    def _on_rules(self, fact: RulesChanged) -> None:
        if not fact.is_now:
            self._before, self._due = self._ours(), []
            return
        news = sorted(self._ours() - self._before, key=str)
        self._queries = tuple(dict.fromkeys(map(query_of, news)))
        self._due = [self._context.clock.now + after for after in reversed(ASKED)] if news else []
        self._wake()

    def _ours(self) -> frozenset[KeyRule]:
        me = self._mapping.me
        rules = [rule for rule in self._mapping.rules if rule.node == me and not rule.stratum]
        return frozenset(key for rule in rules for key in rule.alternatives())

    def tick(self) -> None:
        if self._due and self._due[-1] <= self._context.clock.now:
            self._due.pop()
            for query in self._queries:
                self._lookup.look_up(query, self._inherit_values)
        self._wake()

    def _wake(self) -> None:
        if self._due:
            self._context.clock.wake(self._due[-1])

    def _inherit_values(self, found: LookupResult) -> None:
        me = self._context.me.name
        theirs = [last_values(value.envelope)[0] for value in found.values if value.source != me]
        if count := self._log.inherit(filter(self._is_ours, theirs)):
            self._disk.commit((), lambda error: None)  # an unstored value follows in a later commit
            values = "retained value" if count == 1 else "retained values"
            self._context.event("rules", f"took over {count:,} {values} from their earlier masters")

    def _is_ours(self, value: RetainedValue) -> bool:
        e, key = value.envelope, value.key
        if key.startswith(SYSTEM) or e.sent > self._context.clock.believed + AHEAD:
            return False
        is_erased = self._erasing.last_erasure(key, e.domain) is not None
        if value.is_void(self._context.clock.believed) or is_erased:
            return False
        return self._mapping.me in self._mapping.masters(key, value.as_envelope())


def query_of(rule: KeyRule) -> Query:
    """Return a query that matches at least the messages that an alternative of a rule may match."""
    if rule.kind in KINDS:
        return Query(KINDS[rule.kind], rule.text, "")
    return Query("pattern", "#", rule.text if rule.kind == DOMAIN else "")
