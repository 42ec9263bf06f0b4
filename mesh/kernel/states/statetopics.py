"""Offers the gossiped states to local clients, as topics made on demand."""

from __future__ import annotations

from collections.abc import Iterable

from mesh.discovery.state import NodeState
from mesh.kernel.states.state_topic_stream import StateTopicStream
from mesh.patterns import matches
from mesh.wire.commands import Query

PREFIX = "__sys__cluster.node.state"


class StateTopics:
    """The topics `__sys__cluster.node.state[heron]`: XML, for clients of this node only."""

    def __init__(self, telling: StateTopicStream) -> None:
        self._telling = telling

    def publish_state(self, state: NodeState) -> None:
        """Send the state to its subscribers."""
        self._telling.publish_value(_key(state), state.name, lambda: _xml(state))

    def provide_topics(self, query: Query, states: Iterable[NodeState]) -> None:
        """Create the topics that `query` reads, before it is answered."""
        if query.text.startswith(PREFIX):
            for state in states:
                if matches(query.text, _key(state)):
                    self._telling.store_value(_key(state), state.name, _xml(state))

    def remove_state(self, name: str) -> None:
        """Remove the state of a node that is dead or has left."""
        self._telling.remove_value(f"{PREFIX}[{name}]")


def _xml(state: NodeState) -> bytes:
    from mesh.discovery.state_xml import as_xml  # lxml takes 4 MB and is rarely needed

    return as_xml(state)


def _key(state: NodeState) -> str:
    return f"{PREFIX}[{state.name}]"
