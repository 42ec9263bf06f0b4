"""The rules of nodes as xmlBlaster's `<clusternode>` gives them, put into the list that all nodes share."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from mesh.config.clusternode import read_clusternode
from mesh.config.nodes import check_circles
from mesh.config.properties import Property
from mesh.config.source import Setting
from mesh.mapping.agreed import Agreed, AgreedNode
from mesh.mapping.rules import Rule, standing_in

Rules = dict[str, tuple[Rule, ...]]  # of each node


def rules_of_xml(text: Property) -> tuple[Rules, Sequence[str]]:
    """The rules of a node and of who stands in for it, and what of the text means nothing here. BadConfig."""
    found = read_clusternode(text, is_lenient=None)
    rules = {found.name: found.rules, **{name: standing_in(name, found.rules) for name in found.backups}}
    return rules, found.notes


def with_rules(before: Agreed, found: Rules, add: bool = False) -> Agreed:
    """The list with these in place of what it has of these nodes, or beside it. BadConfig for a circle."""
    entries = {}
    for name, rules in found.items():
        entry = before.nodes.get(name, AgreedNode())
        kept = entry.rules or () if add else ()
        entries[name] = structs.replace(entry, rules=(*kept, *rules))
    before = before.with_all(entries)
    check_circles(
        Setting(f"nodes.{name}.master", rule, "all")
        for name, entry in before.nodes.items()
        for rule in entry.rules or ()
    )
    return before


def without_rules(before: Agreed, names: Sequence[str]) -> Agreed:
    """The list that says nothing of the rules of these nodes: what files say of them counts again."""
    entries = {name: structs.replace(before.nodes.get(name, AgreedNode()), rules=None) for name in names}
    return before.with_all(entries)
