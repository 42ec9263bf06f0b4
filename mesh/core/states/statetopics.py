"""How do clients of this node read the states that nodes gossip? As topics of it, made when somebody asks."""

from __future__ import annotations

from collections.abc import Iterable

from discovery.state import NodeState
from mesh.core.delivery.router import Router
from mesh.core.desk.desk import Desk
from mesh.patterns import matches
from mesh.wire.commands import Query
from mesh.wire.envelope import LOCAL_ONLY, Envelope

PREFIX = "__sys__cluster.node.state"


class StateTopics:
    """The seed's `__sys__cluster.node.state[heron]`: XML, for clients of this node only."""

    def __init__(self, desk: Desk, router: Router) -> None:
        self._router = router
        self._stream = desk.ids(16)
        self._number = 0

    def changed(self, state: NodeState) -> None:
        """Tell those who follow it."""
        if self._router.clients.match(_key(state), ""):
            self._router.tell(self._envelope(state))

    def asked(self, query: Query, states: Iterable[NodeState]) -> None:
        """Have the last values there for somebody who is about to read."""
        if query.text.startswith(PREFIX):
            for state in states:
                if matches(query.text, _key(state)):
                    self._router.keep(self._envelope(state))

    def gone(self, name: str) -> None:
        """The node is dead, or has left: it has no state."""
        self._router.log.retained.remove(f"{PREFIX}[{name}]", "")

    def _envelope(self, state: NodeState) -> Envelope:
        from discovery.state_xml import as_xml  # here: lxml takes 4 MB, and few ask

        content = as_xml(state)
        self._number += 1
        return Envelope(
            stream=self._stream,
            domain="",
            first=self._number,
            last=self._number,
            keys=(_key(state),),
            count=1,
            sizes=len(content),
            body=content,
            flags=LOCAL_ONLY,
            low=self._number,
            sender=f"/node/{state.name}/client/__sys__",
        )


def _key(state: NodeState) -> str:
    return f"{PREFIX}[{state.name}]"
