"""Compares two configurations: changes that apply immediately, and changes that need a restart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple

import msgspec

from mesh.config.nodes import LINK_TIMES, NodeRecord
from mesh.config.sections import Config
from mesh.config.sites import RemoteSite
from mesh.mapping.rules import Rule

LOG = ("log.level", "log.levels")
LIVE = (
    *LOG,
    "node.max_connections",
    "limits.sessions",
    "limits.key_sessions",
    "limits.subscriptions",
    "limits.slow_consumer",
)
SITE, SITES = ("site.relay", "site.relays"), "sites"  # live while site.name is unchanged


class Difference(NamedTuple):
    """The changes: descriptions in `now`, only names in `later`, because some values are secret."""

    now: tuple[str, ...]
    later: tuple[str, ...]


def difference(old: Config, new: Config) -> Difference:
    """Return the changes from `old` to `new`.

    Changes of rules, of the set of nodes, of LIVE settings and, unless `site.name` has changed, of sites
    apply immediately. Others, such as the address of a node, apply at the next start.
    """
    changed, live = tuple(_changed("", old, new)), _live(old, new)
    told = [
        f"{name}: {_value(old, name)} -> {_value(new, name)}"
        for name in changed
        if name in live and name != SITES
    ]
    later = [name for name in changed if name not in live]
    now = (*_nodes(old, new), *_rules(old, new), *told, *(_sites(old, new) if SITES in live else ()))
    return Difference(now, (*_changed_nodes(old, new), *later))


def _live(old: Config, new: Config) -> tuple[str, ...]:
    """Return the live settings. Settings of sites are not live while the name of this site differs."""
    return (*LIVE, *SITE, SITES) if old.site.name == new.site.name else LIVE


def setting(config: Config, name: str) -> Any:
    section, _, key = name.rpartition(".")
    return getattr(getattr(config, section) if section else config, key)


def _value(config: Config, name: str) -> str:
    return f"{setting(config, name)!r:.60}"


def adopted(old: Config, new: Config) -> Config:
    """Return the configuration in effect when `old` has adopted the live settings of `new`."""
    known = {record.name: record for record in old.nodes}
    nodes = tuple(_adopted(known.get(record.name), record) for record in new.nodes)
    old = msgspec.structs.replace(old, nodes=nodes)
    for name in _live(old, new):
        section, _, key = name.rpartition(".")
        if not section:
            old = msgspec.structs.replace(old, **{key: setting(new, name)})
            continue
        part = msgspec.structs.replace(getattr(old, section), **{key: setting(new, name)})
        old = msgspec.structs.replace(old, **{section: part})
    return old


def _adopted(old: NodeRecord | None, new: NodeRecord) -> NodeRecord:
    if old is None:
        return NodeRecord(new.name, masters=new.masters)
    return replace(old, masters=new.masters)


def _nodes(old: Config, new: Config) -> Iterator[str]:
    before, after = ({record.name: None for record in config.nodes} for config in (old, new))
    yield from (f"node {name} is configured" for name in after if name not in before)
    yield from (f"node {name} is no longer configured" for name in before if name not in after)


def _sites(old: Config, new: Config) -> Iterator[str]:
    before, after = ({site.name: site for site in config.sites} for config in (old, new))
    yield from (f"site {name} is configured" for name in after if name not in before)
    yield from (f"site {name} is no longer configured" for name in before if name not in after)
    for name, site in after.items():
        known = before.get(name, site)
        parts = [
            field.name
            for field in fields(RemoteSite)
            if getattr(known, field.name) != getattr(site, field.name)
        ]
        if parts:
            yield f"site {name} has changed {', '.join(parts)}"


def _rules(old: Config, new: Config) -> Iterator[str]:
    before, after = (
        {(rule, n): None for record in config.nodes for n, rule in _counted(record.masters)}
        for config in (old, new)
    )
    yield from (f"new rule: {told(rule)}" for rule, n in after if (rule, n) not in before)
    yield from (f"removed rule: {told(rule)}" for rule, n in before if (rule, n) not in after)
    if before.keys() == after.keys() and list(before) != list(after):
        yield "changed order of rules"


def _counted(rules: tuple[Rule, ...]) -> Iterator[tuple[int, Rule]]:
    """Yield each rule with the number of equal rules before it, so that duplicates stay distinct."""
    seen = dict[Rule, int]()
    for rule in rules:
        yield seen.setdefault(rule, 0), rule
        seen[rule] += 1


def told(rule: Rule) -> str:
    """Format a rule for a report, without default values."""
    said = ((field.name, getattr(rule, field.name), field.default) for field in fields(rule))
    words = [
        f"{name} {_shown(value)}" for name, value, default in said if name != "node" and value != default
    ]
    return f"{rule.node}: {', '.join(words) or 'all by default'}"


def _shown(value: object) -> str:
    return " ".join(map(repr, value)) if isinstance(value, tuple) else str(value)


def _changed_nodes(old: Config, new: Config) -> Iterator[str]:
    before = {record.name: record for record in old.nodes}
    for record in new.nodes:
        known = before.get(record.name, NodeRecord(record.name))
        names = ("address", *LINK_TIMES, "disconnect", "passwd")
        yield from (f"nodes.{record.name}.{n}" for n in names if getattr(known, n) != getattr(record, n))


def _changed(prefix: str, old: msgspec.Struct, new: msgspec.Struct) -> Iterator[str]:
    for name in old.__struct_fields__:
        one, other = getattr(old, name), getattr(new, name)
        if name == "nodes" and not prefix:
            continue
        if isinstance(one, msgspec.Struct) and isinstance(other, msgspec.Struct):
            yield from _changed(f"{prefix}{name}.", one, other)
        elif one != other:
            yield f"{prefix}{name}"
