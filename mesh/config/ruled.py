"""Changes the list of rules that all nodes share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs

from mesh.config.formats import Rules
from mesh.config.nodes import check_circles, check_strata
from mesh.config.source import Setting
from mesh.mapping.agreed import Agreed, AgreedNode

ORIGIN = "the mesh-wide rules"


def with_rules(before: Agreed, found: Rules, add: bool = False) -> Agreed:
    """Return the list in which `found` replaces the rules of the nodes that it names.

    With `add`, these nodes keep their earlier rules, too. Raises: BadConfig if rules contradict each other.
    """
    entries = {}
    for name, rules in found.items():
        entry = before.nodes.get(name, AgreedNode())
        kept = entry.rules or () if add else ()
        entries[name] = structs.replace(entry, rules=(*kept, *rules))
    after = before.with_all(entries)
    check_strata(_settings(entries))
    check_circles(_settings(after.nodes))
    return after


def _settings(nodes: Mapping[str, AgreedNode]) -> Iterator[Setting]:
    for name, entry in nodes.items():
        yield from (Setting(f"nodes.{name}.master", rule, ORIGIN) for rule in entry.rules or ())


def without_rules(before: Agreed, names: Sequence[str]) -> Agreed:
    """Return the list without the rules of the nodes `names`.

    The rules in files then apply to these nodes again.
    """
    entries = {name: structs.replace(before.nodes.get(name, AgreedNode()), rules=None) for name in names}
    return before.with_all(entries)


def with_addresses(before: Agreed, name: str, at: Sequence[str]) -> Agreed:
    """Return the list in which others dial the node at `at`; without addresses, only by their settings."""
    return before.with_(name, structs.replace(before.nodes.get(name, AgreedNode()), at=tuple(at)))
