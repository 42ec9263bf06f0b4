"""What happens to connections with other sites."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.desk.facts import Fact


@dataclass(frozen=True, slots=True)
class GateChanged(Fact):
    """A gateway of another site has come or gone here. `is_less`: what was under way there may be lost."""

    site: str
    is_less: bool
