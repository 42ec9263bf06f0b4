"""Facts about the demand of this node."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.context.facts import Fact
from mesh.wire.commands import Query


@dataclass(frozen=True, slots=True)
class Unwanted(Fact):
    """No requester here wants the query any more, or fewer nodes are asked for it."""

    query: Query
