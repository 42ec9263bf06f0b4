"""Which meshes do the stories play in? Nodes, their rules, and who knows whom."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from mesh.mapping.rules import Rule

RUGBY, STOCK = "RUGBY_NEWS", "STOCK_EXCHANGE"
NAMES = ("heron", "avalon", "frodo", "bilbo", "golan", "stork", "crane", "egret", "ibis")

# bilbo -> frodo -> heron <-> avalon, golan -> heron
CHAIN = {
    "heron": (Rule("heron", domains=(RUGBY,)), Rule("avalon", domains=(STOCK,))),
    "avalon": (Rule("avalon", domains=(STOCK,)), Rule("heron", domains=(RUGBY,))),
    "frodo": (Rule("frodo", 2, (STOCK,)), Rule("heron", domains=(RUGBY,)), Rule("heron", 1, (STOCK,))),
    "bilbo": (Rule("frodo", 1, (RUGBY,)), Rule("frodo", 2, (STOCK,))),
    "golan": (Rule("golan", domains=(STOCK,)), Rule("heron", domains=(RUGBY,)), Rule("heron", 1, (STOCK,))),
}
CHAIN_KNOWN = {
    "heron": ("avalon",), "avalon": ("heron",), "golan": ("heron",), "frodo": ("heron",), "bilbo": ("frodo",),
}  # fmt: skip
# Two masters of one domain: bilbo -> frodo -> heron and avalon; golan -> heron and avalon.
BOTH = (Rule("heron", domains=(RUGBY,)), Rule("avalon", domains=(RUGBY,)))
SEVERAL = {
    "heron": BOTH, "avalon": BOTH, "golan": BOTH,
    "frodo": (Rule("frodo", 1, (RUGBY,)), *BOTH),
    "bilbo": (Rule("frodo", 1, (RUGBY,)),),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cast:
    """`rules` is one of plain, chain, several; `masters` those that log a domain's messages."""

    rules: str
    nodes: tuple[str, ...]
    domains: tuple[str, ...]
    finds_by: str  # seeds or mdns

    def settings(self, node: str) -> dict[str, Any]:
        """What this node is told of others."""
        if self.rules == "plain":
            return {}
        rules, known = (CHAIN, CHAIN_KNOWN.get(node, ())) if self.rules == "chain" else (SEVERAL, self.nodes)
        return {"rules": rules[node], "known": known, "links": "configured", "scope": "local"}

    def masters(self, domain: str) -> tuple[str, ...]:
        """Whose acceptance is an OK; () = the node where it was published."""
        if self.rules == "several":
            return ("heron", "avalon")
        return {RUGBY: ("heron",), STOCK: ("avalon",)}.get(domain, ()) if self.rules == "chain" else ()

    def seeds(self, node: str) -> tuple[str, ...]:
        return () if self.finds_by == "mdns" else self.nodes[:1]


def drawn(dice: Random, rules: str) -> Cast:
    """A mesh of that kind."""
    finds_by = "mdns" if dice.random() < 0.3 else "seeds"
    if rules == "plain":
        return Cast(rules, NAMES[: dice.choice([3, 3, 4, 5, 5, 7, 9])], ("",), finds_by)
    if rules == "chain":  # golan is master of STOCK for its own clients: a case of its own
        return Cast(rules, NAMES[:4], (RUGBY, STOCK), finds_by)
    return Cast(rules, NAMES[: dice.choice([4, 5])], (RUGBY,), finds_by)
