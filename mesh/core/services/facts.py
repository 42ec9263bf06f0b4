"""What happens to what was sent to addresses."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.desk.facts import Fact


@dataclass(frozen=True, slots=True)
class CameBack(Fact):
    """It is known what became of something that a client here has sent to an address here."""
