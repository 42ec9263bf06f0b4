"""The list of nodes that long-lived clients save, so that later ones find a node."""

# Law 1: only a client that named several nodes, or is connected for LONG_LIVED s, saves nodes.
# Law 2: a client saves at most once in LONG_LIVED s.

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mesh.client.core.client_context import ClientContext, Timer
from mesh.client.core.effects import SaveNodes
from mesh.client.core.known_nodes import KnownNode, checked
from mesh.client.core.node_choice import NodeChoice
from mesh.wire.commands import Welcome

KEPT = 32  # nodes
LONG_LIVED = 60.0  # s


def usable(nodes: Iterable[KnownNode]) -> list[KnownNode]:
    """Return the valid nodes of a saved list, the last used one first, at most KEPT."""
    found = (checked(each.name, each.addresses, each.key, each.seen) for each in nodes)
    return _latest(node for node in found if node is not None)


def merged(saved: Sequence[KnownNode], news: Sequence[KnownNode]) -> list[KnownNode]:
    """Return the list to save: the nodes of both lists by their names, the last used one first.

    Of two entries of one node, that of `news` counts, with the later time.
    """
    found = {node.name: node for node in saved}
    for node in news:
        before = found.get(node.name)
        seen = node.seen if before is None else max(node.seen, before.seen)
        found[node.name] = KnownNode(node.name, node.addresses, node.key, seen)
    return _latest(found.values())


def _latest(nodes: Iterable[KnownNode]) -> list[KnownNode]:
    return sorted(nodes, key=lambda node: -node.seen)[:KEPT]


class NodeSaving:
    """Saves the nodes of a client while it is connected; `is_at_once` if the client named several nodes."""

    def __init__(self, context: ClientContext, choice: NodeChoice, is_at_once: bool) -> None:
        self._context, self._choice, self._is_at_once = context, choice, is_at_once
        self._timer = Timer(context)
        self._last = float("-inf")  # when the client last saved

    def on_welcome(self, w: Welcome, address: str) -> None:
        """Save the node at `address` and the nodes of its WELCOME, now or later."""
        self.cancel()
        own = checked(w.node.name, (address, w.node.address, *w.node.also), w.node.key)
        nodes = (*([own] if own is not None else []), *self._choice.known)
        earliest = 0.0 if self._is_at_once else LONG_LIVED
        wait = max(earliest, self._last + LONG_LIVED - self._context.now)
        if nodes:
            self._timer.schedule(wait, lambda: self._save(w.cluster, nodes, own is not None))

    def cancel(self) -> None:
        self._timer.cancel()

    def _save(self, cluster: str, nodes: tuple[KnownNode, ...], has_own: bool) -> None:
        self._last = self._context.now
        self._context.do(SaveNodes(cluster, nodes, has_own))
