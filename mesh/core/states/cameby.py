"""May a message have come by these nodes? What no honest node says is known without asking anybody."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from mesh.errors import BadName
from mesh.names import SessionName, node_name
from mesh.patterns import SYSTEM


def is_way(sender: str, nodes: Sequence[str], last: str) -> bool:
    """From the node of its sender to `last`, who brings it: each by a name that one can have, and once."""
    try:
        if not nodes or nodes[-1] != last or _home(sender) != nodes[0]:
            return False
        return len(nodes) == len({node_name(node) for node in nodes})
    except BadName:
        return False


@lru_cache(maxsize=1024)  # asked of each envelope on its way; what is no name is not kept
def _home(sender: str) -> str | None:
    """The node of a session, written as nodes write those of their clients. BadName for all else."""
    name = SessionName.parse(sender)
    if name.session is None or name.site is not None or name.client.startswith(SYSTEM):
        raise BadName(f"{sender!r} is no session that a node opens for a client.")
    return name.node
