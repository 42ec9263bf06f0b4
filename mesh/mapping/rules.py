"""What does a rule say of a node?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from mesh.mapping.filters import MAPPERS, VERSION, Filter

ANY_DOMAIN = "*"  # as a rule's domain: every named one

# What a key of a rule can be, the most specific first. A message goes by the keys of one kind alone.
EXACT, XPATH, PATTERN, DOMAIN, FILTER, ANY = "EXACT", "XPATH", "PATTERN", "DOMAIN", "FILTER", "*"
KINDS = (EXACT, XPATH, PATTERN, DOMAIN, FILTER, ANY)
OWN_MAPPER = "DomainToMaster"  # goes by a rule's keys and filters


@dataclass(frozen=True, slots=True)
class KeyRule:
    """One alternative of a rule: a key of some kind, and filters that all must say yes, too.

    `text` is a key (EXACT), an XPath, a pattern, or the name of a domain, "" for none; of a filter alone it
    is empty.
    """

    kind: str
    text: str = ""
    filters: tuple[Filter, ...] = ()

    def __str__(self) -> str:
        named = {ANY: "DOMAIN *", FILTER: ""}.get(self.kind, f"{self.kind} {self.text}")
        if self.kind == DOMAIN and not self.text:
            named = "accepts messages without a domain"
        return " and ".join(filter(None, (named, *map(str, self.filters))))


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. `node` is master (stratum 0), or a way to the master (1 and more), of what any of its keys or
    filters fits.

    A domain is a name, `*` for any, or "" for messages without one. `refid` names the node one stratum
    closer to the master. `filters` are alternatives of their own; those of one key stand in `given`. The
    two `accept_` settings count under default-scope "local" only. A `mapper` of another type decides in place
    of keys and filters, by what `told` says. A `backup` is master only while all others are away. With
    `dirty_read` clients of a node get what goes to that one before it has it.
    """

    node: str
    stratum: int = 0
    domains: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    refid: str = ""
    accept_default: bool = True  # take the messages without domain of its own clients
    accept_other_default: bool = False  # and those of other nodes' clients
    patterns: tuple[str, ...] = ()
    xpaths: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    given: tuple[KeyRule, ...] = ()  # keys with filters of their own
    mapper: str = OWN_MAPPER
    version: str = VERSION  # of the mapper
    told: str = ""
    backup: bool = False
    dirty_read: bool = False

    @property
    def is_master(self) -> bool:
        """Is its node a master whoever is away?"""
        return self.stratum == 0 and not self.backup

    def alternatives(self) -> Iterator[KeyRule]:
        """All that it may fit by."""
        if self.mapper != OWN_MAPPER:
            yield KeyRule(FILTER, "", (Filter(self.mapper, self.told, self.version, MAPPERS),))
            return
        yield from (KeyRule(EXACT, key) for key in self.keys)
        yield from (KeyRule(XPATH, xpath) for xpath in self.xpaths)
        yield from (KeyRule(PATTERN, pattern) for pattern in self.patterns)
        yield from (KeyRule(*_domain(domain)) for domain in self.domains)
        yield from (KeyRule(FILTER, "", (each,)) for each in self.filters)
        for key in self.given:
            yield KeyRule(*_domain(key.text), key.filters) if key.kind == DOMAIN else key


def _domain(name: str) -> tuple[str, str]:
    return (ANY, "") if name == ANY_DOMAIN else (DOMAIN, name)


def standing_in(backup: str, masters: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules of a backup of all that a node with these is master of."""
    return tuple(replace(rule, node=backup, backup=True) for rule in masters if rule.is_master)


def has_several(rules: Iterable[Rule]) -> bool:
    """May anything have more than one master?"""
    return has_rivals(rules, lambda rule: rule.stratum == 0)


def has_rivals(rules: Iterable[Rule], counts: Callable[[Rule], bool]) -> bool:
    """May several of the rules that count name a node for the same message? What is asked of a message beside
    a whole key or domain may fit as well as any other of its kind."""
    return any(len(nodes) > 1 for nodes in holders_of_each(filter(counts, rules)).values())


def holders_of_each(rules: Iterable[Rule]) -> dict[tuple[str, str], set[str]]:
    """The nodes that these rules name for what may fit the same message."""
    holders: dict[tuple[str, str], set[str]] = {}
    for rule in rules:
        default = [(DOMAIN, "")] if rule.accept_other_default else []
        for what in default + [rivalry(key) for key in rule.alternatives()]:
            holders.setdefault(what, set()).add(rule.node)
    return holders


def rivalry(key: KeyRule) -> tuple[str, str]:
    """What alternatives have in common that may fit the same message."""
    return (key.kind, key.text if key.kind in (EXACT, DOMAIN) else "")
