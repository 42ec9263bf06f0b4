"""Meshes for tests of ways and strata."""

from __future__ import annotations

from typing import Any

from mesh.mapping.rules import Rule
from tests.mesh.kernel.masters import Cluster, cluster
from tests.simulation import SimNode

K = "news/today"
# bilbo may ask frodo or sam, each of them heron.
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
    """As it is known there; None: not yet."""
    own = node.core.parts.strata.own.get(domain)
    return None if own is None else own.way
