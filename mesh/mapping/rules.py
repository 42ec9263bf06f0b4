"""Routing rules as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from mesh.mapping.filters import MAPPERS, VERSION, Filter

ANY_DOMAIN = "*"  # domain of a rule: any named domain

# Kinds of keys of a rule, the most specific first. One kind decides alone for a message.
EXACT, XPATH, PATTERN, DOMAIN, FILTER, ANY = "EXACT", "XPATH", "PATTERN", "DOMAIN", "FILTER", "*"
REST = "REST"  # of a rule without a condition: what no other rule matches
KINDS = (EXACT, XPATH, PATTERN, DOMAIN, FILTER, ANY, REST)
WHOLE = (DOMAIN, ANY, REST)  # kinds that match all keys of a domain
MOST_NODES = 4096  # with shared rules, and of `min_nodes`
LONGEST_CACHED = 86_400.0  # s, of `cache_ttl` and `cache_linger`
OWN_MAPPER = "DomainToMaster"  # uses a rule's keys and filters


@dataclass(frozen=True, slots=True)
class KeyRule:
    """An alternative of a rule: a key of some kind, and filters that must all match.

    `text` is a key (EXACT), an XPath, a pattern, or the name of a domain, "" for none. For the kinds FILTER,
    ANY and REST it is empty.
    """

    kind: str
    text: str = ""
    filters: tuple[Filter, ...] = ()

    def __str__(self) -> str:
        whole = {ANY: "DOMAIN *", FILTER: "", REST: "everything else"}
        named = whole.get(self.kind, f"{self.kind} {self.text}")
        if self.kind == DOMAIN and not self.text:
            named = "accepts messages without a domain"
        return " and ".join(filter(None, (named, *map(str, self.filters))))


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that makes `node` a master (stratum 0), or a hop towards one, for matching messages.

    A message matches if any of the alternatives does. A domain is a name, `*` for any named domain, or "" for
    messages without one. `refid` names the node one stratum closer to the master. `filters` are alternatives
    of their own; filters of a key are in `given`. The two `accept_` settings count with default scope "local"
    only. A `mapper` other than OWN_MAPPER replaces keys and filters, with `told` as its argument. A `backup`
    is master only while all others are unreachable. Without a condition, `refid` is the parent of the
    node for everything that no other rule matches (`is_rest`). With `dirty_read` local clients receive
    messages before the node accepts them. A slave drops a cached value after `cache_ttl` s, and stays
    subscribed for `cache_linger` s after its last local subscriber; 0 means no limit, and not at all. A
    master keeps the latest `history` messages of each topic. A master or backup accepts messages only while
    it reaches `min_nodes` nodes, itself included.
    """

    node: str
    stratum: int = 0
    domains: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    refid: str = ""
    accept_default: bool = True  # accept own clients' messages without domain
    accept_other_default: bool = False  # accept those of other nodes' clients
    patterns: tuple[str, ...] = ()
    xpaths: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    given: tuple[KeyRule, ...] = ()  # keys with filters of their own
    mapper: str = OWN_MAPPER
    version: str = VERSION  # of the mapper
    told: str = ""
    backup: bool = False
    dirty_read: bool = False
    cache_ttl: float = 0.0
    cache_linger: float = 0.0
    history: int = 1
    min_nodes: int = 1

    @property
    def is_master(self) -> bool:
        """True if the node is a master even if others are reachable."""
        return self.stratum == 0 and not self.backup

    @property
    def is_rest(self) -> bool:
        """True if the rule names a parent without a condition; such a rule counts at its own node only."""
        named = (self.domains, self.keys, self.patterns, self.xpaths, self.filters, self.given)
        is_whole = self.mapper == OWN_MAPPER and not (any(named) or self.accept_other_default)
        return is_whole and self.stratum > 0 and self.refid not in ("", self.node)

    def alternatives(self) -> Iterator[KeyRule]:
        if self.mapper != OWN_MAPPER:
            yield KeyRule(FILTER, "", (Filter(self.mapper, self.told, self.version, MAPPERS),))
            return
        yield from (KeyRule(EXACT, key) for key in self.keys)
        yield from (KeyRule(XPATH, xpath) for xpath in self.xpaths)
        yield from (KeyRule(PATTERN, pattern) for pattern in self.patterns)
        yield from (KeyRule(*_domain(domain)) for domain in self.domains)
        yield from (KeyRule(FILTER, "", (each,)) for each in self.filters)
        if self.is_rest:
            yield KeyRule(REST)
        for key in self.given:
            yield KeyRule(*_domain(key.text), key.filters) if key.kind == DOMAIN else key

    def whole_domains(self) -> Iterator[KeyRule]:
        """Yield the alternatives that name domains without filters."""
        return (key for key in self.alternatives() if key.kind in WHOLE and not key.filters)


def _domain(name: str) -> tuple[str, str]:
    return (ANY, "") if name == ANY_DOMAIN else (DOMAIN, name)


def standing_in(backup: str, masters: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules that make `backup` a backup for all topics of the master rules in `masters`."""
    return tuple(replace(rule, node=backup, backup=True) for rule in masters if rule.is_master)


def has_key_rules(rules: Iterable[Rule]) -> bool:
    """Return whether a rule names some topics of a domain, and not the whole of it."""
    return any(key.kind not in WHOLE for rule in rules for key in rule.alternatives())


def has_several(rules: Iterable[Rule]) -> bool:
    """Return whether a message may have more than one master."""
    return has_rivals(rules, lambda rule: rule.stratum == 0)


def has_rivals(rules: Iterable[Rule], counts: Callable[[Rule], bool]) -> bool:
    """Return whether the rules that `counts` selects may name several nodes for the same message.

    Two conditions of one kind, except whole keys and domains, are assumed to match the same message.
    """
    return any(len(nodes) > 1 for nodes in holders_of_each(filter(counts, rules)).values())


def holders_of_each(rules: Iterable[Rule]) -> dict[tuple[str, str], set[str]]:
    """Return the nodes of the rules by `rivalry`: each set may be named for the same message."""
    holders: dict[tuple[str, str], set[str]] = {}
    for rule in rules:
        default = [(DOMAIN, "")] if rule.accept_other_default else []
        for what in default + [rivalry(key) for key in rule.alternatives()]:
            holders.setdefault(what, set()).add(rule.node)
    return holders


def rivalry(key: KeyRule) -> tuple[str, str]:
    """Return a value that is equal for alternatives of one kind that may match the same message."""
    return (key.kind, key.text if key.kind in (EXACT, DOMAIN) else "")
