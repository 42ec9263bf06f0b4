"""The transactions of a scenario, and their rows that are left in the end."""

from __future__ import annotations

from mesh.features.transactions.node.parts import TransactionParts
from mesh.wire.limits import TRANSACTIONS_OPEN
from tools.simulator.clients.hand import Hand
from tools.simulator.history import Event
from tools.simulator.stage.scene import Scene, Steps

Words = str  # such as "jobs*2 mail"


class Transactions:
    """The transactions of a scene, and the steps that concern them."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    @property
    def steps(self) -> Steps:
        return {"commit": self._commit}

    def _commit(
        self, name: str, most: int, word: str, puts: Words, keys: Words, domain: str, flags: str
    ) -> None:
        client = self._scene.clients.get(name)
        if not isinstance(client, Hand) or client.is_closed:
            return
        said = f"{name} {self._scene.net.now:.6f}"
        put = [(queue, "", f"{said} {queue} {i}".encode()) for i, queue in enumerate(puts.split())]
        posts = [(domain, key, f"{said} {i}".encode()) for i, key in enumerate(keys.split())]
        client.commit(most, word, put, posts, flags)

    def end(self) -> None:
        """Record the transactions that are not over, and outcomes beyond the limit."""
        for node in self._scene.nodes.values():
            parts = node.core.parts[TransactionParts]
            self._left(node.name, "transactions under way", len(parts.commits._open))
            outcomes = parts.rows._outcomes
            most = max((len(each.outcomes) for each in outcomes._all.values()), default=0)
            self._left(node.name, "outcomes beyond the limit", max(0, most - TRANSACTIONS_OPEN))

    def _left(self, node: str, what: str, count: int) -> None:
        self._scene.history.add(Event(self._scene.net.now, "unfinished", node, text=what, stamp=count))
