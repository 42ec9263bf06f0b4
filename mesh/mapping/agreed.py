"""Rules that the whole mesh shares, and how they combine with a node's own configuration."""

# Law 1: the shared entry of a node replaces the node's whole entry in a file: the two never mix.
# Law 2: the shared rules are one list, written in one step: no node ever applies half of a change.
# Law 3: whether a list is valid is the same at every node. A node that lacks a plug-in reports that itself.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from mesh.dialable import is_node_address
from mesh.discovery.state import Natural
from mesh.errors import LocalError
from mesh.mapping.checking import check_alternative, check_xpaths
from mesh.mapping.filters import LONGEST
from mesh.mapping.rules import KINDS, LONGEST_CACHED, MOST_NODES, Rule
from mesh.names import node_name
from mesh.wire.limits import HISTORY_MESSAGES

ALTERNATIVES = 1000  # of all its rules
ADDRESSES = 8  # of one node
STRATA = 15  # highest stratum
# Terms of a rule that the first releases do not know, with the value of a rule without the term.
LATER: dict[str, object] = {"cache_ttl": 0.0, "cache_linger": 0.0, "history": 1, "min_nodes": 1}
# The lowest and highest values of terms, and their unit.
LIMITS = {
    "cache_ttl": (0, LONGEST_CACHED, " s"),
    "cache_linger": (0, LONGEST_CACHED, " s"),
    "history": (1, HISTORY_MESSAGES, ""),
    "min_nodes": (1, MOST_NODES, ""),
}


class RuleSet(NamedTuple):
    """Rules, the names of configured nodes, and the names of nodes that must not be linked.

    Configured nodes may be linked even where other nodes may not.
    """

    rules: tuple[Rule, ...]
    known: tuple[str, ...]
    denied: frozenset[str] = frozenset()


class AgreedNode(msgspec.Struct, frozen=True, omit_defaults=True):
    """The shared entry of one node.

    `rules` are all rules of the node, or None if files decide. `allowed` says whether the node may be linked,
    or is None if settings decide. `at` has the addresses at which all others dial the node, besides those of
    their settings.
    """

    rules: tuple[Rule, ...] | None = None
    allowed: bool | None = None
    at: tuple[str, ...] = ()


class Agreed(msgspec.Struct, frozen=True, omit_defaults=True):
    """The shared list: an entry for each node with shared rules or permissions."""

    nodes: dict[str, AgreedNode] = {}
    base: Natural = 0  # timestamp of the list before this one
    by: Annotated[str, Meta(pattern=r"^[ -~]{0,255}\Z")] = ""  # its author, unverified

    @property
    def rules(self) -> dict[str, tuple[Rule, ...]]:
        return {name: entry.rules for name, entry in self.nodes.items() if entry.rules is not None}

    @property
    def addresses(self) -> dict[str, tuple[str, ...]]:
        return {name: entry.at for name, entry in self.nodes.items() if entry.at}

    def with_(self, name: str, entry: AgreedNode) -> Agreed:
        """Return the list with `entry` as the entry of the node. An empty entry removes the node."""
        return self.with_all({name: entry})

    def with_all(self, entries: Mapping[str, AgreedNode]) -> Agreed:
        """Return the list with `entries` in place of the present entries of the same nodes.

        An empty entry removes its node.
        """
        nodes = {name: entry for name, entry in {**self.nodes, **entries}.items() if entry != NOTHING}
        return msgspec.structs.replace(self, nodes=dict(sorted(nodes.items())))


NOTHING = AgreedNode()
NONE = Agreed()


def packed(agreed: Agreed) -> bytes:
    """Return the list as it is stored and sent.

    Terms in LATER are left out if unused, so that earlier releases read all lists that they can apply.
    """
    plain = msgspec.to_builtins(agreed)
    for entry in plain.get("nodes", {}).values():
        for rule in entry.get("rules") or ():
            for term, unused in LATER.items():
                if rule[term] == unused:
                    del rule[term]
    return msgspec.msgpack.encode(plain)


def unpacked(value: bytes) -> Agreed:
    """Return the list from its row, or an empty list for b"". Raises: LocalError.

    The code is BAD_RULES, or that of an invalid name, key, pattern or XPath.
    """
    if not value:
        return NONE
    try:
        found = _decode(value)
        if packed(found) != value:
            raise bad("They use terms of a newer release, which this release does not know.")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise bad(f"They cannot be read: {error}.") from error
    check(found)
    return found


def check(agreed: Agreed) -> None:
    """Check that the list is valid. Raises: LocalError, as `unpacked`."""
    if len(agreed.nodes) > MOST_NODES:
        raise bad(f"The rules have {len(agreed.nodes):,} nodes; the limit is {MOST_NODES:,}.")
    if list(agreed.nodes) != sorted(agreed.nodes):
        raise bad("Their nodes are not sorted by name.")
    left = ALTERNATIVES
    for name, entry in agreed.nodes.items():
        node_name(name)
        check_addresses(name, entry.at)
        for rule in entry.rules or ():
            left -= _check_rule(name, rule, left)
    check_xpaths(rule for entry in agreed.nodes.values() for rule in entry.rules or ())


def check_addresses(name: str, at: Sequence[str]) -> None:
    """Check the addresses of one node. Raises: LocalError BAD_RULES."""
    if len(at) > ADDRESSES:
        raise bad(f"{name} has {len(at):,} addresses; the limit is {ADDRESSES}.")
    for address in at:
        if not is_node_address(address):
            raise bad(f"{address[:80]!r} is no address of {name}, such as tcp://HOST:PORT.")


def _check_rule(name: str, rule: Rule, left: int) -> int:
    if rule.node != name:
        raise bad(f"A rule of {name} belongs to {rule.node[:80]!r}.")
    if not 0 <= rule.stratum <= STRATA:
        raise bad(f"A rule of {name} has the stratum {rule.stratum}; the limit is {STRATA}.")
    if rule.refid and node_name(rule.refid) == name:
        raise bad(f"A rule of {name} has {name} itself as refid.")
    if rule.refid and not rule.stratum:
        raise bad(f"A rule of {name} has a refid, although its stratum 0 makes {name} the master.")
    for term, (least, most, unit) in LIMITS.items():
        value = getattr(rule, term)
        if not least <= value <= most:
            raise bad(f"A rule of {name} has {term} = {value}; the limit is {most:,g}{unit}.")
    given = list(rule.alternatives())
    if len(given) > left:
        raise bad(f"The rules have more than {ALTERNATIVES:,} keys, patterns, XPaths, domains and filters.")
    for key in given:
        if key.kind not in KINDS:
            raise bad(f"A rule of {name} has a key of the unknown kind {key.kind[:80]!r}.")
        check_alternative(key)
        if any(len(each.text) > LONGEST for each in key.filters):
            raise bad(f"A filter of {name} has more than {LONGEST:,} characters.")
    return len(given)


def bad(what: str) -> LocalError:
    return LocalError(f"The mesh-wide rules are invalid. {what}", code="BAD_RULES")


_decode = msgspec.msgpack.Decoder(Agreed).decode


def counting(own: RuleSet, agreed: Agreed) -> RuleSet:
    """Return the rules in effect at a node: its configuration `own`, overridden by the shared list."""
    denied = frozenset(name for name, entry in agreed.nodes.items() if entry.allowed is False)
    meant = (name for name, entry in agreed.nodes.items() if entry.allowed or entry.rules)
    known = tuple(name for name in dict.fromkeys((*own.known, *meant)) if name not in denied)
    return RuleSet(tuple(_rules(own.rules, agreed.rules)), known, denied)


def _rules(own: Sequence[Rule], said: Mapping[str, Sequence[Rule]]) -> Iterator[Rule]:
    """Yield the rules in the order of `own`, then the shared rules of other nodes, by name."""
    left = dict(said)
    for rule in own:
        if rule.node not in said:
            yield rule
        elif rule.node in left:
            yield from left.pop(rule.node)
    for rules in left.values():
        yield from rules
