"""What nodes have said of themselves."""

from __future__ import annotations

from dataclasses import dataclass

from discovery.gossip import Known
from discovery.state import NodeState
from mesh.core.desk.facts import Fact


@dataclass(frozen=True, slots=True)
class StateHeard(Fact):
    """Another node has said how it is."""

    known: Known


@dataclass(frozen=True, slots=True)
class Spoke(Fact):
    """This node has said how it is."""

    state: NodeState


@dataclass(frozen=True, slots=True)
class OurWaysChanged(Fact):
    """Nodes through which this one publishes and asks are others than before."""


@dataclass(frozen=True, slots=True)
class RoutesVouched(Fact):
    """Ways are believed that were not before, or the other way round."""
