"""The clients of a scenario: they connect, publish, subscribe, request, move and leave."""

from __future__ import annotations

from collections.abc import Callable

from tools.simulator.clients.hand import Hand
from tools.simulator.clients.operator import Operator
from tools.simulator.clients.witness import Witness
from tools.simulator.script import sends_away
from tools.simulator.stage.scene import Scene, Steps

STAYING = ("asker", "later", "boss")  # clients with the task of an operator


class Company:
    """The clients of a scene, and the steps that concern them."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self._clients = scene, scene.clients

    @property
    def steps(self) -> Steps:
        return {
            "client": self.come,
            "publish": self.publish,
            "send": self._send,
            "listen": self._listen,
            "unlisten": self._unlisten,
            "rate": self._rate,
            "get": self._get,
            "erase": self._erase,
            "move": self._move,
            "die": self._die,
            "bye": self._bye,
            "open inbox": self._open_inbox,
        }

    def come(self, name: str, node: str) -> None:
        if name not in self._clients:
            scene = self._scene
            session = 1 if name.startswith(("reader", "later")) else 0
            said = "later" if name.startswith("later") else name
            address = scene.nodes[node].ipc
            others = scene.others_of(node) if name in scene.roaming else ()
            stays = name.startswith(STAYING) and sends_away(scene.script)
            kind = Operator if stays else Hand
            self._clients[name] = kind(scene.net, address, said, scene.history, session, name, others)

    def publish(self, name: str, keys: str, flag: str, domain: str, size: int) -> None:
        client = self._clients.get(name)
        if client is not None and not client.is_closed:
            words = keys.split()
            now = self._scene.net.now
            contents = [f"{name} {now:.6f} {i}".ljust(size).encode() for i in range(len(words))]
            client.publish(keys, *contents, persistent=flag == "persistent", domain=domain)

    def _send(self, name: str, to: str, flag: str, force: str, domain: str) -> None:
        client = self._clients.get(name)
        if client is not None:
            content = f"{name} {self._scene.net.now:.6f}".encode()
            to = self._reader_of(to)
            client.send(to, content, force=bool(force), persistent=flag == "persistent", domain=domain)

    def _reader_of(self, to: str) -> str:
        """Return the session that a script means, which another node may have opened."""
        reader = self._clients.get(to.removeprefix("/node/").split("/")[2]) if to.count("/") == 6 else None
        return (reader.session_name if reader is not None else "") or to

    def _of(self, name: str, then: Callable[[Witness], object]) -> None:
        client = self._clients.get(name)
        if client is not None and not client.is_closed:
            then(client)

    def _listen(self, name: str, sub: str, pattern: str, domain: str, initial: str, rate: float) -> None:
        paced = None if rate < 0 else rate
        self._of(name, lambda client: client.listen(sub, pattern, domain, bool(initial), paced))

    def _unlisten(self, name: str, sub: str) -> None:
        self._of(name, lambda client: client.unsubscribe(client.names[sub]) if sub in client.names else None)

    def _rate(self, name: str, sub: str, rate: float) -> None:
        def change(client: Witness) -> None:
            if sub in client.names:
                client.use(client.names[sub], None if rate < 0 else rate)

        self._of(name, change)

    def _get(self, name: str, key: str, domain: str, fresh: str) -> None:
        self._of(name, lambda client: client.ask_get(key, domain, bool(fresh)))

    def _erase(self, name: str, key: str, domain: str) -> None:
        self._of(name, lambda client: client.ask_erase(key, domain))

    def _move(self, name: str, node: str) -> None:
        self._scene.history.met("publisher went to another node")
        self._of(name, lambda client: client.move(self._scene.nodes[node].ipc))

    def _die(self, name: str) -> None:
        self._of(name, Witness.die)

    def _bye(self, name: str) -> None:
        self._of(name, Witness.close)

    def _open_inbox(self, name: str) -> None:
        self._of(name, Witness.open_inbox)
