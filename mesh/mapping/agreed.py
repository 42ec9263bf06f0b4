"""Rules that the whole mesh shares, and which of them and of a node's own file count there."""

# Law 1: what the mesh says of a node stands in the place of what a file says of it, whole: they never mix.
# Law 2: it is one list, written at once: nobody ever goes by half of a change.
# Law 3: whether a list can be is the same at every node. What a node lacks (a plug-in) is for it to say.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from discovery.state import Natural
from mesh.errors import LocalError
from mesh.mapping.checking import check_alternative, check_xpaths
from mesh.mapping.filters import LONGEST
from mesh.mapping.rules import KINDS, Rule
from mesh.names import node_name

NODES = 4096  # of which a list tells
ALTERNATIVES = 1000  # of all its rules
STRATA = 15  # the highest


class RuleSet(NamedTuple):
    """Rules; the names of configured nodes, which may be linked where not all may; and of nodes that may be
    linked nowhere."""

    rules: tuple[Rule, ...]
    known: tuple[str, ...]
    denied: frozenset[str] = frozenset()


class AgreedNode(msgspec.Struct, frozen=True, omit_defaults=True):
    """The mesh's word on one node. `rules`: all of that node, none if empty; None: files say it.
    `allowed`: may it be linked? None: settings say it."""

    rules: tuple[Rule, ...] | None = None
    allowed: bool | None = None


class Agreed(msgspec.Struct, frozen=True, omit_defaults=True):
    """The list: an entry for each node of which the mesh says something."""

    nodes: dict[str, AgreedNode] = {}
    base: Natural = 0  # stamp of the list that this one was made from
    by: Annotated[str, Meta(pattern=r"^[ -~]{0,255}\Z")] = ""  # who made it, as he says

    @property
    def rules(self) -> dict[str, tuple[Rule, ...]]:
        """Of the nodes whose rules are said."""
        return {name: entry.rules for name, entry in self.nodes.items() if entry.rules is not None}

    def with_(self, name: str, entry: AgreedNode) -> Agreed:
        """The list with another entry for that node; one that says nothing takes it out."""
        return self.with_all({name: entry})

    def with_all(self, entries: Mapping[str, AgreedNode]) -> Agreed:
        """The same for many."""
        nodes = {name: entry for name, entry in {**self.nodes, **entries}.items() if entry != NOTHING}
        return msgspec.structs.replace(self, nodes=dict(sorted(nodes.items())))


NOTHING = AgreedNode()
NONE = Agreed()


def packed(agreed: Agreed) -> bytes:
    """As it is in the row."""
    return msgspec.msgpack.encode(agreed)


def unpacked(value: bytes) -> Agreed:
    """A list from its row; b"": none. LocalError BAD_RULES, or of a name, key, pattern or XPath."""
    if not value:
        return NONE
    try:
        found = _decode(value)
        if packed(found) != value:
            raise bad("a newer release says more in them than is known here.")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise bad(f"they cannot be read: {error}.") from error
    check(found)
    return found


def check(agreed: Agreed) -> None:
    """Can it be a list? LocalError as of `unpacked`."""
    if len(agreed.nodes) > NODES:
        raise bad(f"they are of {len(agreed.nodes):,} nodes, {NODES:,} are the most.")
    if list(agreed.nodes) != sorted(agreed.nodes):
        raise bad("the nodes are not in their order.")
    left = ALTERNATIVES
    for name, entry in agreed.nodes.items():
        node_name(name)
        for rule in entry.rules or ():
            left -= _check_rule(name, rule, left)
    check_xpaths(rule for entry in agreed.nodes.values() for rule in entry.rules or ())


def _check_rule(name: str, rule: Rule, left: int) -> int:
    """How many alternatives it has."""
    if rule.node != name:
        raise bad(f"one of {name} is of {rule.node[:80]!r}.")
    if not 0 <= rule.stratum <= STRATA:
        raise bad(f"one of {name} has the stratum {rule.stratum}; {STRATA} is the highest.")
    if rule.refid and (node_name(rule.refid) == name or not rule.stratum):
        raise bad(f"one of {name} has a refid that is itself, or needs none: it is the master.")
    given = list(rule.alternatives())
    if len(given) > left:
        raise bad(f"they have more than {ALTERNATIVES:,} keys, patterns, XPaths, domains and filters.")
    for key in given:
        if key.kind not in KINDS:
            raise bad(f"one of {name} has a key that is {key.kind[:80]!r}.")
        check_alternative(key)
        if any(len(each.text) > LONGEST for each in key.filters):
            raise bad(f"a filter of {name} has more than {LONGEST:,} characters.")
    return len(given)


def bad(what: str) -> LocalError:
    """The refusal of a list."""
    return LocalError(f"these are no rules of a mesh: {what}", code="BAD_RULES")


_decode = msgspec.msgpack.Decoder(Agreed).decode


def counting(own: RuleSet, agreed: Agreed) -> RuleSet:
    """What counts at a node whose settings say `own`."""
    denied = frozenset(name for name, entry in agreed.nodes.items() if entry.allowed is False)
    meant = (name for name, entry in agreed.nodes.items() if entry.allowed or entry.rules)
    known = tuple(name for name in dict.fromkeys((*own.known, *meant)) if name not in denied)
    return RuleSet(tuple(_rules(own.rules, agreed.rules)), known, denied)


def _rules(own: Sequence[Rule], said: Mapping[str, Sequence[Rule]]) -> Iterator[Rule]:
    """In the order of the file; nodes that are not in it behind, by name."""
    left = dict(said)
    for rule in own:
        if rule.node not in said:
            yield rule
        elif rule.node in left:
            yield from left.pop(rule.node)
    for rules in left.values():
        yield from rules
