"""Facts about node states."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.discovery.gossip import Known
from mesh.discovery.state import NodeState
from mesh.kernel.context.facts import Fact


@dataclass(frozen=True, slots=True)
class StateReceived(Fact):
    """A state of another node was received."""

    known: Known


@dataclass(frozen=True, slots=True)
class OwnStateSent(Fact):
    """This node has published its state."""

    state: NodeState


@dataclass(frozen=True, slots=True)
class OurWaysChanged(Fact):
    """The nodes through which this one publishes and subscribes have changed."""


@dataclass(frozen=True, slots=True)
class RoutesVouched(Fact):
    """The set of routes that this node believes may have changed."""
