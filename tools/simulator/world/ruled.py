"""Observes which shared rules a node has, and which of them it uses."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from mesh.kernel.parts import Parts
from mesh.mapping.agreed import RuleSet, packed
from mesh.wire.limits import RULES

Tell = Callable[..., None]  # kind, and fields of an event


def sum_of_rules(value: bytes) -> str:
    return sha256(value).hexdigest()[:12]


def watch(parts: Parts, tell: Tell) -> None:
    """Record each list that is accepted (`has rules`), and each that takes effect (`goes by`)."""
    shared, ruling = parts.shared, parts.ruling
    counts, take = shared._counts, ruling._apply_rules

    def taken(row: Any, by: Any) -> None:
        if row.kind == RULES:
            tell("has rules", stamp=row.stamp, text=sum_of_rules(row.value))
        counts(row, by)

    def counted(found: RuleSet) -> None:
        take(found)
        tell("goes by", text=sum_of_rules(packed(ruling.agreed)))

    vars(shared)["_counts"], vars(ruling)["_apply_rules"] = taken, counted
