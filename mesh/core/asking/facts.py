"""Facts about the demand of this node."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.context.facts import Fact
from mesh.wire.commands import Query


@dataclass(frozen=True, slots=True)
class Unwanted(Fact):
    """A requester here has dropped the query, so that fewer nodes may be asked for it, or none."""

    query: Query
