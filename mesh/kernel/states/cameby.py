"""Checks the route of a message for claims that no honest node makes, without asking other nodes."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import lru_cache

from mesh.errors import BadName
from mesh.names import SessionName, node_name
from mesh.patterns import SYSTEM


def is_way(sender: str, nodes: Sequence[str], last: str, sites: Container[str] = ()) -> bool:
    """Return whether the route leads from the sender's node to `last`, with valid names, each of them once.

    For a sender of one of the `sites`, the route may begin at any node, which is then a gateway of this site.
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


@lru_cache(maxsize=1024)  # called for each forwarded envelope
def _home(sender: str) -> tuple[str | None, str | None]:
    """Return the site, None for this one, and the node of a client's session name. Raises: BadName."""
    name = SessionName.parse(sender)
    if name.session is None or name.client.startswith(SYSTEM):
        raise BadName(f"{sender!r} is not a client session at a node.")
    return name.site, name.node
