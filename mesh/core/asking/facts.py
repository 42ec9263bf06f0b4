"""What becomes of things that this node wants from others."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.desk.facts import Fact
from mesh.wire.commands import Query


@dataclass(frozen=True, slots=True)
class Unwanted(Fact):
    """A query that somebody here wants no more: it is asked of fewer others, or of nobody."""

    query: Query
