"""Which meshes do the stories play in? Nodes, their rules, and who knows whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from mesh.config.sites import RemoteSite
from mesh.mapping.rules import ANY_DOMAIN, Rule
from mesh.sites.accepting import Accepts
from tools.simulating.grammar import Rules, Territory, rules_of, territories
from tools.simulating.places import Place
from tools.simulating.profiles import SIZES
from tools.simulating.world.node import address

Masters = dict[str, tuple[str, ...]]  # names by whatever leads to them
RUGBY, STOCK = "RUGBY_NEWS", "STOCK_EXCHANGE"
TOPICS = ("a", "b", "a/x", "a/y", "c/d/e")
NAMES = ("heron", "avalon", "frodo", "bilbo", "golan", "stork", "crane", "egret", "ibis")

# bilbo -> frodo -> heron <-> avalon, golan -> heron
CHAIN = {
    "heron": (Rule("heron", domains=(RUGBY,)), Rule("avalon", domains=(STOCK,))),
    "avalon": (Rule("avalon", domains=(STOCK,)), Rule("heron", domains=(RUGBY,))),
    "frodo": (Rule("frodo", 2, (STOCK,)), Rule("heron", domains=(RUGBY,)), Rule("heron", 1, (STOCK,))),
    "bilbo": (Rule("frodo", 1, (RUGBY,)), Rule("frodo", 2, (STOCK,))),
    "golan": (Rule("golan", domains=(STOCK,)), Rule("heron", domains=(RUGBY,)), Rule("heron", 1, (STOCK,))),
}
CHAIN_KNOWN: Masters = {
    "heron": ("avalon",),
    "avalon": ("heron",),
    "golan": ("heron",),
    "frodo": ("heron",),
    "bilbo": ("frodo",),
}
# Two masters of one domain: bilbo -> frodo -> heron and avalon; golan -> heron and avalon.
BOTH = (Rule("heron", domains=(RUGBY,)), Rule("avalon", domains=(RUGBY,)))
SEVERAL = {
    "heron": BOTH,
    "avalon": BOTH,
    "golan": BOTH,
    "frodo": (Rule("frodo", 1, (RUGBY,)), *BOTH),
    "bilbo": (Rule("frodo", 1, (RUGBY,)),),
}


@dataclass(frozen=True, slots=True)
class Cast:
    """A cast. `rules` is one of plain, chain, several, drawn, free, shared; `masters` those that log what
    is in a domain, or has a key, and () = the node where it was published. Each of `sites` has its own."""

    rules: str
    nodes: tuple[str, ...]
    domains: tuple[str, ...]
    finds_by: str  # seeds or mdns
    files: Rules = field(default_factory=dict)
    known: Masters = field(default_factory=dict)
    masters: Masters = field(default_factory=dict)  # by domain,
    keys: Masters = field(default_factory=dict)  # and by key
    sites: tuple[Place, ...] = ()

    def dirty(self) -> Cast:
        """The same, where clients of a node have what goes to masters before these have it."""
        files = {
            node: tuple(replace(rule, dirty_read=True) for rule in rules)
            for node, rules in self.files.items()
        }
        return replace(self, files=files)

    def rules_at(self, node: str) -> str:
        """Of which kind they are for this node."""
        place = self.site_of(node)
        return place.rules if place is not None else self.rules

    def site_of(self, node: str) -> Place | None:
        return next((place for place in self.sites if node in place.nodes), None)

    def mates(self, node: str) -> tuple[str, ...]:
        """The nodes of its mesh, itself among them."""
        place = self.site_of(node)
        return place.nodes if place is not None else self.nodes

    def dialled(self, place: Place) -> dict[str, tuple[str, ...]]:
        """The addresses that gateways of that site dial, by the name of each other one that it knows."""
        gateways = {other.name: tuple(map(self._address, other.gateways)) for other in self.sites}
        return {sends.to: gateways[sends.to] if sends.dials else () for sends in place.sends if not sends.via}

    def others(self, place: Place) -> list[RemoteSite]:
        """What the files of that site say of the others. It takes from each what that sends."""
        through = any(sends.via == place.name for other in self.sites for sends in other.sends)
        back = {other.name: sends for other in self.sites for sends in other.sends if sends.to == place.name}
        return [
            RemoteSite(
                sends.to,
                domains=sends.domains,
                topics=sends.topics,
                max_bytes=sends.max_bytes,
                when_full="reject" if sends.rejects else "mark",
                accepts=Accepts(back[sends.to].domains, back[sends.to].topics),
                via=sends.via,
                serves=(*sends.serves, "site/*") if through else sends.serves,
                letters=sends.letters,
            )
            for sends in place.sends
        ]

    def _address(self, node: str) -> str:
        return address(self.nodes.index(node) + 1)

    def settings(self, node: str) -> dict[str, Any]:
        """The settings that tell this node of others of its mesh."""
        if self.rules_at(node) in ("plain", "shared"):
            return {}
        known = self.known.get(node, ())
        return {"rules": self.files[node], "known": known, "links": "configured", "scope": "local"}

    def masters_of(self, domain: str, key: str) -> tuple[str, ...]:
        """A key goes before a domain, and that before `*`."""
        other = self.masters.get(ANY_DOMAIN, ()) if domain else ()
        return self.keys.get(key) or self.masters.get(domain) or other

    def behind(self, way: str) -> frozenset[str]:
        """Nodes of which something goes by that one, or by one of which something goes by it."""
        found, more = frozenset[str](), frozenset({way})
        while more - found:
            found |= more
            more = frozenset(
                node
                for node, rules in self.files.items()
                if node in self.nodes and any(r.node in found and r.stratum for r in rules if r.node != node)
            )
        return found - {way}

    def seeds(self, node: str) -> tuple[str, ...]:
        return () if self.finds_by == "mdns" else self.mates(node)[:1]


def drawn(dice: Random, rules: str, most: int = len(NAMES), sizes: Sequence[int] = SIZES) -> Cast:
    """A mesh of that kind; of so many nodes, where the rules are plain."""
    finds_by = "mdns" if dice.random() < 0.3 else "seeds"
    if rules == "plain":
        return Cast(rules, NAMES[: min(most, dice.choice(sizes))], ("",), finds_by)
    if rules == "chain":  # golan is master of STOCK for its own clients: a case of its own
        one: Masters = {RUGBY: ("heron",), STOCK: ("avalon",)}
        return Cast(rules, NAMES[:4], (RUGBY, STOCK), finds_by, CHAIN, CHAIN_KNOWN, one)
    if rules == "several":
        nodes = NAMES[: dice.choice([4, 5])]
        both: Masters = {RUGBY: ("heron", "avalon")}
        return Cast(rules, nodes, (RUGBY,), finds_by, SEVERAL, dict.fromkeys(nodes, nodes), both)
    nodes, domains = NAMES[: dice.choice([3, 4, 5, 5, 6])], (RUGBY, STOCK)
    found = list(territories(dice, nodes, domains, TOPICS, is_free=rules == "free"))
    return ruled(nodes, domains, finds_by, found, rules_of(dice, nodes, found), dice.random() < 0.5)


def ruled(
    nodes: tuple[str, ...],
    domains: tuple[str, ...],
    finds_by: str,
    found: list[Territory],
    files: Rules,
    meets_all: bool,
) -> Cast:
    """A mesh of those rules. `meets_all`: may a node link others than its rules name?"""
    named = {
        node: tuple(dict.fromkeys(r.node for r in rules if r.node != node)) for node, rules in files.items()
    }
    known = dict.fromkeys(nodes, nodes) if meets_all else named
    masters = {domain: t.masters for t in found for domain in t.domains}
    keys = {key: t.masters for t in found for key in t.keys}
    return Cast("drawn", nodes, domains, finds_by, files, known, masters, keys)
