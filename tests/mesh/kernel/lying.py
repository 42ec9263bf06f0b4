"""A node whose replies are made up by a test."""

from typing import Any

from mesh.kernel.context.incoming_call import answer
from mesh.wire.calls import Ask
from mesh.wire.commands import Reply
from tests.simulation import SimNode


def replies(node: SimNode, asks: type[Ask], value: Any) -> None:
    """Let the node answer this call of other nodes with `value`, until it restarts."""
    verb = answer(asks, lambda asked: asked._send(Reply(asked.request, value), ()))
    node.core.parts.context.face.peer_verbs[asks.verb] = verb
