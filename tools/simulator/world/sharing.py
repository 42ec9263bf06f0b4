"""Observes which definitions of spaces a node learns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.features.spaces.node.facts import SpaceDefinedFact
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact

Tell = Callable[..., None]  # kind of the event, and its fields


class SpaceWatch(Component):
    """The observer of the definitions that one process knows."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(SpaceDefinedFact, self._on_defined),)

    def _on_defined(self, fact: SpaceDefinedFact) -> None:
        new = fact.new
        self._tell("defined", domain=fact.space, first=new.generation, to=new.node, stamp=new.version)
