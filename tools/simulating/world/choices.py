"""Whom does a node choose for what is sent to addresses, and what does it get from others?"""

from __future__ import annotations

from collections.abc import Callable

from mesh.core.parts import Parts
from mesh.wire.envelope import Envelope

Tell = Callable[[str, Envelope, str, int], None]  # kind, what, the name and boot of the other


def watch(parts: Parts, tell: Tell) -> None:
    """Tell of all that leaves for another node, and of what comes from there."""
    departing, serving, peers = (
        parts.services.sending._departing,
        parts.services.serving,
        parts.neighbours.peers,
    )
    add, take = departing.add, serving.take

    def chosen(uuid: bytes, envelope: Envelope, ttl: int) -> None:
        if uuid in peers:  # else it leaves for another site here
            tell("chosen", envelope, peers[uuid].node.name, peers[uuid].node.boot)
        add(uuid, envelope, ttl)

    def reached(source: bytes, envelope: Envelope, ttl: int) -> None:
        if source in peers:
            tell("reached", envelope, peers[source].node.name, peers[source].node.boot)
        take(source, envelope, ttl)

    vars(departing)["add"], vars(serving)["take"] = chosen, reached
