"""The simulated meshes: nodes, their routing rules, and which nodes know each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from mesh.config.sites import RemoteSite
from mesh.mapping.rules import ANY_DOMAIN, Rule
from mesh.site_policy.accepting import Accepts
from tools.simulator.grammar import Rules, Territory, rules_of, territories, tree
from tools.simulator.places import Place
from tools.simulator.profiles import SIZES
from tools.simulator.world.identity import address

Masters = dict[str, tuple[str, ...]]  # names of masters by domain or key
RUGBY, STOCK = "RUGBY_NEWS", "STOCK_EXCHANGE"
TOPICS = ("a", "b", "a/x", "a/y", "c/d/e")
NAMES = ("heron", "avalon", "frodo", "bilbo", "golan", "stork", "crane", "egret", "ibis")

# The chain is bilbo -> frodo -> heron <-> avalon, and golan -> heron.
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
# One domain has two masters: bilbo -> frodo -> heron and avalon; golan -> heron and avalon.
BOTH = (Rule("heron", domains=(RUGBY,)), Rule("avalon", domains=(RUGBY,)))
# Each domain has a master, which all others reach directly.
DIRECT = (Rule("heron", domains=(RUGBY,)), Rule("avalon", domains=(STOCK,)))
SEVERAL = {
    "heron": BOTH,
    "avalon": BOTH,
    "golan": BOTH,
    "frodo": (Rule("frodo", 1, (RUGBY,)), *BOTH),
    "bilbo": (Rule("frodo", 1, (RUGBY,)),),
}


@dataclass(frozen=True, slots=True)
class Cast:
    """The mesh of a scenario.

    `rules` is one of plain, direct, chain, several, tree, drawn, shared, sites. `masters` has the masters by
    domain; without an entry the node where a message is published is the master. Each of `sites` has its own
    masters.
    """

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
        """Return this cast with dirty reads: clients receive messages before the masters accept them."""
        files = {
            node: tuple(replace(rule, dirty_read=True) for rule in rules)
            for node, rules in self.files.items()
        }
        return replace(self, files=files)

    def rules_at(self, node: str) -> str:
        place = self.site_of(node)
        return place.rules if place is not None else self.rules

    def site_of(self, node: str) -> Place | None:
        return next((place for place in self.sites if node in place.nodes), None)

    def mates(self, node: str) -> tuple[str, ...]:
        """Return the nodes of the mesh of `node`, including `node`."""
        place = self.site_of(node)
        return place.nodes if place is not None else self.nodes

    def dialled(self, place: Place) -> dict[str, tuple[str, ...]]:
        """Return the gateway addresses that `place` dials, by the name of each neighboring site."""
        gateways = {other.name: tuple(map(self._address, other.gateways)) for other in self.sites}
        return {sends.to: gateways[sends.to] if sends.dials else () for sends in place.sends if not sends.via}

    def others(self, place: Place) -> list[RemoteSite]:
        """Return the site configuration of `place`.

        A site accepts from another site what that site sends.
        """
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
        """Return the settings of `node`: its rules, and the other nodes that it knows."""
        if self.rules_at(node) in ("plain", "shared"):
            return {}
        known = self.known.get(node, ())
        return {"rules": self.files[node], "known": known, "links": "configured", "scope": "local"}

    def masters_of(self, domain: str, key: str) -> tuple[str, ...]:
        """Return the masters of a topic.

        A key's rule precedes a domain's, which precedes `*`.
        """
        other = self.masters.get(ANY_DOMAIN, ()) if domain else ()
        return self.keys.get(key) or self.masters.get(domain) or other

    def behind(self, way: str) -> frozenset[str]:
        """Return the nodes whose messages may pass through the node `way`, directly or by other nodes."""
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
    """Draw a mesh whose rules are of the kind `rules`. A plain or direct one has at most `most` nodes."""
    finds_by = "mdns" if dice.random() < 0.3 else "seeds"
    if rules == "plain":
        return Cast(rules, NAMES[: min(most, dice.choice(sizes))], ("",), finds_by)
    if rules == "chain":  # excludes golan, master of STOCK for its clients
        one: Masters = {RUGBY: ("heron",), STOCK: ("avalon",)}
        return Cast(rules, NAMES[:4], (RUGBY, STOCK), finds_by, CHAIN, CHAIN_KNOWN, one)
    if rules == "direct":
        nodes, one = NAMES[: min(most, dice.choice(sizes))], {RUGBY: ("heron",), STOCK: ("avalon",)}
        files: Rules = dict.fromkeys(nodes, DIRECT)
        known: Masters = dict.fromkeys(nodes, nodes)
        return Cast(rules, nodes, (RUGBY, STOCK), finds_by, files, known, one)
    if rules == "several":
        nodes = NAMES[: dice.choice([4, 5])]
        both: Masters = {RUGBY: ("heron", "avalon")}
        return Cast(rules, nodes, (RUGBY,), finds_by, SEVERAL, dict.fromkeys(nodes, nodes), both)
    if rules == "tree":
        nodes = NAMES[: dice.choice([4, 5, 7])]
        own: Masters = {RUGBY: nodes[:1]}
        return Cast(
            rules, nodes, (RUGBY,), finds_by, tree(dice, nodes, RUGBY), dict.fromkeys(nodes, nodes), own
        )
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
    """Return a mesh with the rules `files`.

    `meets_all` says whether nodes may link to nodes that their rules do not name.
    """
    named = {
        node: tuple(dict.fromkeys(r.node for r in rules if r.node != node)) for node, rules in files.items()
    }
    known = dict.fromkeys(nodes, nodes) if meets_all else named
    masters = {domain: t.masters for t in found for domain in t.domains}
    keys = {key: t.masters for t in found for key in t.keys}
    return Cast("drawn", nodes, domains, finds_by, files, known, masters, keys)
