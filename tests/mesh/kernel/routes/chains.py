"""Meshes for tests of routes and strata."""

from __future__ import annotations

from typing import Any

from mesh.mapping.rules import Rule
from tests.mesh.kernel.masters import Cluster, cluster
from tests.simulation import SimNode

K = "news/today"
# bilbo reaches heron through frodo or sam.
DIAMOND: dict[str, tuple[Rule, ...]] = {
    "heron": (Rule("heron", domains=("NEWS",)),),
    "frodo": (Rule("heron", domains=("NEWS",)),),
    "sam": (Rule("heron", domains=("NEWS",)),),
    "bilbo": (
        Rule("bilbo", 9, ("NEWS",), refid="frodo"),
        Rule("frodo", 1, ("NEWS",)),
        Rule("sam", 1, ("NEWS",)),
    ),
}


def diamond(**settings: Any) -> Cluster:
    return cluster("heron", "frodo", "sam", "bilbo", rules=DIAMOND, known=tuple(DIAMOND), **settings)


def way(node: SimNode, domain: str = "NEWS") -> tuple[str, ...] | None:
    """Return the node's route to the master; `None` while it is unknown."""
    own = node.core.parts.strata.own.get(domain)
    return None if own is None else own.way
