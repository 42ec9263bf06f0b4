"""A node that replies what somebody else has thought up."""

from typing import Any

from mesh.kernel.context.incoming_call import answer
from mesh.wire.calls import Ask
from mesh.wire.commands import Reply
from tests.simulation import SimNode


def replies(node: SimNode, asks: type[Ask], value: Any) -> None:
    """From now on, when other nodes ask it that. It survives no restart."""
    verb = answer(asks, lambda asked: asked._send(Reply(asked.request, value), ()))
    node.core.parts.context.face.peer_verbs[asks.verb] = verb
