"""Nodes that do not belong to the mesh, and a node that lies."""

from __future__ import annotations

from typing import Any

from tools.simulator.casts import TOPICS
from tools.simulator.stage.scene import Scene, Steps
from tools.simulator.world.forging import Forger
from tools.simulator.world.liar import Liar
from tools.simulator.world.machine import HarshNode

STAYS = 20.0  # s


class Strangers:
    """Nodes that are not in the script, and a liar among the others."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._foreign: list[HarshNode] = []

    @property
    def steps(self) -> Steps:
        return {"stranger": self._stranger, "namesake": self._namesake, "lie": self._lie}

    def leave(self) -> None:
        for node in self._foreign:
            node.close()

    def let_go(self) -> None:
        """Release the resources of all foreign nodes after the run."""
        for node in self._foreign:
            node.let_go()

    def _stranger(self, near: str) -> None:
        """Start a node without the secret."""
        self._other("stranger", near, secret=b"not the user's cookie")

    def _namesake(self, name: str, near: str) -> None:
        """Start another node of the same name."""
        self._other(name, near)

    def _other(self, name: str, near: str, **settings: Any) -> None:
        scene = self._scene
        scene.fault("stranger" if settings else "namesake", name, near)
        own = scene.script.cast.settings(name) if not settings else {}
        uuid = b"foreign" + len(self._foreign).to_bytes(9)
        node = HarshNode(scene.net, name, (near,), {**own, **settings, "uuid": uuid}, scene.history)
        node.label = f"foreign {name} {len(self._foreign)}"  # each is another process
        self._foreign.append(node)
        node.start()
        scene.net.after(STAYS, node.close)

    def _lie(self, name: str) -> None:
        """Make a node send arbitrary numbers to other nodes, until all faults are healed."""
        scene, cast = self._scene, self._scene.script.cast
        scene.fault("lie", name)
        scene.history.met("lied")
        node, dice = scene.nodes[name], scene.net.chance(f"lies {name}")
        others = [other for other in scene.nodes if other not in {name, *cast.behind(name)}]
        forger = Forger(name, others, cast.domains, TOPICS, scene.script.is_keyed, dice)
        node.liar = Liar(node, dice, lambda: [client.stream for client in scene.clients.values()], forger)
