"""Facts about the demand of this node."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.kernel.context.facts import Fact
from mesh.wire.commands import Query


@dataclass(frozen=True, slots=True)
class Unwanted(Fact):
    """A requester has dropped its last request at this node for the query.

    Fewer nodes may then be asked for the query, or none.
    """

    query: Query
