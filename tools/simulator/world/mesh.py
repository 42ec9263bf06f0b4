"""Many nodes in one simulated network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tools.simulator.world.network import Network
from tools.simulator.world.node import SimNode


def copy_of(node: SimNode, **settings: Any) -> SimNode:
    """Return a node, not started, with the identity and the store of `node`, as if its files were copied."""
    twin = SimNode(node.net, node.name, (), {**node._settings, "uuid": node.uuid, **settings})
    twin.disk = replace(node.disk)
    return twin


class SimNetwork(Network[SimNode]):
    """A network that creates its nodes."""

    def node(self, name: str, *seeds: str, **settings: Any) -> SimNode:
        """Create, start and return a node.

        `seeds` are names of other nodes.
        """
        node = SimNode(self, name, seeds, settings)
        node.start()
        return node

    def mesh(self, *names: str, **settings: Any) -> list[SimNode]:
        """Create nodes, and return them when each knows all others. Raises: AssertionError, after 60 s."""
        nodes = [self.node(name, *names[:1], **settings) for name in names]
        self.until(lambda: all(len(node.alive) == len(names) - 1 for node in nodes))
        return nodes
