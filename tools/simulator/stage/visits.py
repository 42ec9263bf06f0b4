"""Clients that move between nodes, by their own choice or because their node is lost."""

from __future__ import annotations

from collections.abc import Callable

from mesh.routing.visits import SIGNATURE
from mesh.wire.commands import Certificate, Moved
from tools.simulator.clients.witness import Witness
from tools.simulator.stage.scene import Scene, Steps

ARRIVES = 8.0  # s within which a client is expected at the node to which it was sent
HIGHEST = 2**32 - 1  # attach number
LOOK = 0.002  # s between two looks whether it is there


class Visits:
    """The moves of a scene's clients. `kill` and `start` end and start the process of a node."""

    def __init__(self, scene: Scene, kill: Callable[[str], None], start: Callable[[str], None]) -> None:
        self._scene, self._net, self._kill, self._start = scene, scene.net, kill, start

    @property
    def steps(self) -> Steps:
        return {
            "kill node": self._kill_node,
            "cut client": self._cut_client,
            "roam": self._roam,
            "forge visit": self._forge,
        }

    def _client(self, name: str) -> Witness | None:
        client = self._scene.clients.get(name)
        return None if client is None or client.is_closed else client

    def _kill_node(self, name: str, back: float) -> None:
        """Kill the node at which the client is, or was last."""
        client = self._client(name)
        if client is not None and client.core.line.home:
            self._kill_for(client.core.line.home, back)

    def _kill_for(self, node: str, seconds: float) -> None:
        self._kill(node)
        self._net.after(seconds, lambda: self._start(node))

    def _cut_client(self, name: str, seconds: float) -> None:
        """Cut the wire between the client and its node."""
        client = self._client(name)
        if client is None or not client.is_up:
            return
        node = client.core.line.home
        self._scene.fault("cut", client.name, node)
        self._net.cut(client.name, node)
        self._net.after(seconds, lambda: self._mend(client.name, node))

    def _mend(self, client: str, node: str) -> None:
        self._scene.over("cut", client, node)
        self._net.heal_pair(client, node)

    def _roam(self, name: str, node: str, then: str, wait: float, back: float) -> None:
        """Send the client to a node, and kill that node `wait` s after its arrival, if `then` says so."""
        client = self._client(name)
        if client is None:
            return
        client.move(self._scene.nodes[node].ipc)
        if then:
            self._on_arrival(client, node, self._net.now + ARRIVES, lambda: self._kill_for(node, back), wait)

    def _forge(self, forger: str, to: str, name: str) -> None:
        """Let a node claim the session of a client by a certificate that the client has not signed."""
        node, client = self._scene.nodes[forger], self._client(name)
        if not node.is_up or node.is_stopped or client is None or not client.session_name:
            return
        parts = node.core.parts
        peer, key = parts.neighbours.named(to), client.core.visits._key.public
        if peer is not None:
            certificate = Certificate(client.session_name, key, HIGHEST, node.uuid, bytes(SIGNATURE))
            parts.context.out.send(peer.data, Moved(certificate))
            node._carry_out_all()
            self._scene.history.met("forged visit")

    def _on_arrival(
        self, client: Witness, node: str, until: float, then: Callable[[], None], wait: float
    ) -> None:
        if client.is_up and client.core.line.home == node:
            self._net.after(wait, then)
        elif self._net.now < until:
            self._net.after(LOOK, lambda: self._on_arrival(client, node, until, then, wait))
