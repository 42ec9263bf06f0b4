"""Offers the rules in force and the addresses of nodes to local clients, as topics made on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.routes.facts import RulesChanged
from mesh.kernel.states.state_topic_stream import StateTopicStream
from mesh.mapping.mapping import Mapping
from mesh.mapping.rulesxml import info_xml, master_xml
from mesh.patterns import matches
from mesh.reserved import INFO, MASTER
from mesh.wire.commands import Query


class NodeTopics(Component):
    """Component for the topics `__sys__cluster.node.master[heron]` and `__sys__cluster.node.info[heron]`.

    The topics contain XML, and only clients of this node can read them. The first topic exists for the nodes
    that the rules name.
    """

    def __init__(
        self, context: NodeContext, telling: StateTopicStream, neighbours: Neighbours, mapping: Mapping
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._mapping = mapping
        self._telling = telling
        self._shared: dict[str, tuple[str, ...]] = {}  # last addresses that the admin has set
        self._masters: dict[str, bytes] = {}  # last contents, while rules change

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(RulesChanged, self._on_rules),)

    def before_read(self, query: Query) -> None:
        if query.text.startswith(MASTER):
            rules = self._mapping.rules
            self._create_topics(
                query, MASTER, ((name, partial(master_xml, name, rules)) for name in self._names())
            )
        elif query.text.startswith(INFO):
            self._create_topics(
                query, INFO, ((name, partial(info_xml, name, *at)) for name, at in self._known().items())
            )

    def _create_topics(
        self, query: Query, prefix: str, contents: Iterable[tuple[str, Callable[[], bytes]]]
    ) -> None:
        for name, content in contents:
            key = f"{prefix}[{name}]"
            if matches(query.text, key):
                self._telling.store_value(key, name, content())

    def _on_rules(self, fact: RulesChanged) -> None:
        self._on_addresses()
        if not fact.is_now:
            self._masters = self._rules()
            return
        before, now = self._masters, self._rules()
        for name in sorted({*before, *now}):
            content = now.get(name) or master_xml(name, ())
            if before.get(name) != content:
                self._telling.publish_value(f"{MASTER}[{name}]", name, partial(bytes, content))
            if name not in now:
                self._telling.remove_value(f"{MASTER}[{name}]")

    def _rules(self) -> dict[str, bytes]:
        return {name: master_xml(name, self._mapping.rules) for name in self._names()}

    def _names(self) -> Iterable[str]:
        return dict.fromkeys(rule.node for rule in self._mapping.rules)

    def _known(self) -> dict[str, tuple[str, ...]]:
        """Return the addresses of each node: the ones set by the admin, otherwise the one in use."""
        known = {self._context.me.name: (self._context.me.address,)}
        for peer in self._neighbours.peers.values():
            known[peer.node.name] = (peer.reached or peer.node.address,)
        return known | self._neighbours.acquaintances.shared

    def _on_addresses(self) -> None:
        """Publish the addresses that the admin has changed."""
        before, now = self._shared, dict(self._neighbours.acquaintances.shared)
        self._shared = now
        if before == now:
            return
        known = self._known()
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                content = info_xml(name, *known.get(name, ()))
                self._telling.publish_value(f"{INFO}[{name}]", name, partial(bytes, content))
            if name not in known:
                self._telling.remove_value(f"{INFO}[{name}]")
