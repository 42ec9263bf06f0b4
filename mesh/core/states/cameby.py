"""May a message have come by these nodes? What no honest node says is known without asking anybody."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import lru_cache

from mesh.errors import BadName
from mesh.names import SessionName, node_name
from mesh.patterns import SYSTEM


def is_way(sender: str, nodes: Sequence[str], last: str, sites: Container[str] = ()) -> bool:
    """From the node of its sender to `last`, who brings it: each by a name that one can have, and once.
    Where the sender is of one of these `sites`, from a gateway of ours, whatever that is called.
    """
    try:
        if not nodes or nodes[-1] != last:
            return False
        site, home = _home(sender)
        if home != nodes[0] if site is None else site not in sites:
            return False
        return len(nodes) == len({node_name(node) for node in nodes})
    except BadName:
        return False


@lru_cache(maxsize=1024)  # asked of each envelope on its way; what is no name is not kept
def _home(sender: str) -> tuple[str | None, str | None]:
    """The site, if it is another one, and the node of a session, written as nodes write those of their
    clients. BadName for all else.
    """
    name = SessionName.parse(sender)
    if name.session is None or name.client.startswith(SYSTEM):
        raise BadName(f"{sender!r} is no session that a node opens for a client.")
    return name.site, name.node
