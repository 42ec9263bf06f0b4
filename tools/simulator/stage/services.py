"""The services of a scenario, and the check that nodes know the correct servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from mesh.names import is_group
from tools.simulator.clients.partner import Partner
from tools.simulator.history import Event
from tools.simulator.stage.scene import Scene, Steps
from tools.simulator.stage.streak import Streaks
from tools.simulator.world.machine import HarshNode

LASTING = 3  # samples in which a row must be wrong
ASKED = 5.0  # s timeout of a run's last requests

Rows = dict[str, int]  # number of servers by node


class Services:
    """The services of a scene, and the steps that concern them."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._wrong = Streaks[tuple[str, str]]()  # by watcher and name
        self._was: dict[str, Rows] = {}
        self._since: Counter[str] = Counter()  # samples in which the truth was constant

    @property
    def steps(self) -> Steps:
        return {
            "serve": self._serve,
            "unserve": lambda name, sub: self._of(name, lambda client: client.unserve(sub)),
            "request": self._asks("request"),
            "gather": self._asks("gather"),
            "tell": self._asks("tell"),
            "visit": self._visit,
            "look at": lambda name, address: self._of(name, lambda client: client.look_at(address)),
        }

    def _partners(self) -> Iterator[Partner]:
        for client in self._scene.clients.values():
            if isinstance(client, Partner) and not client.is_closed:
                yield client

    def _of(self, name: str, then: Callable[[Partner], None]) -> None:
        client = self._scene.clients.get(name)
        if isinstance(client, Partner) and not client.is_closed:
            then(client)

    def _serve(self, name: str, sub: str, address: str, credit: int, local: str, seconds: float) -> None:
        self._of(name, lambda client: client.serve(sub, address, credit, bool(local), seconds))

    def _asks(self, kind: str) -> Callable[[str, str, int, float, str], None]:
        def ask(name: str, address: str, count: int, seconds: float, local: str) -> None:
            self._of(name, lambda client: client.ask_for(kind, address, count, seconds, bool(local)))

        return ask

    def _visit(self, name: str, node: str) -> None:
        self._of(name, lambda client: client.move(self._scene.nodes[node].ipc))

    # --- the end ------------------------------------------------------------------------------------------

    def hurry(self) -> None:
        """Let all servers handle further requests without delay."""
        for client in self._partners():
            client.hurry()

    def ask_all(self) -> None:
        """Send a request from each node's asker to each address of the scenario."""
        addresses = sorted(str(s.args[2]) for s in self._scene.script.steps if s.kind == "serve")
        sites = [place.name for place in self._scene.script.cast.sites]
        addresses += [f"/site/{site}/{address}" for site in sites for address in addresses]
        for address in dict.fromkeys(addresses):
            for name in self._scene.nodes if not is_group(address) else ():
                self._of(f"asker-{name}", lambda c, to=address: c.ask_for("request", to, 1, ASKED, False))  # type: ignore[misc]

    # --- samples --------------------------------------------------------------------------------------------

    def sample(self) -> None:
        """Record each row that has been wrong for LASTING samples although the truth has not changed."""
        self._wrong.begin()
        truth = self._truth()
        for name in {*truth, *self._was}:
            same = truth.get(name, {}) == self._was.get(name, {})
            self._since[name] = self._since[name] + 1 if same else 0
        self._was = truth
        for node in self._scene.nodes.values():
            for name, rows in self._known(node):
                mates = {*self._scene.script.cast.mates(node.name)} - {node.name}
                others = {at: n for at, n in truth.get(name, {}).items() if at in mates}
                self._compare(node.name, name, rows, others)
        for client in self._partners():
            for name, (_, table) in client.watched.items() if client.is_up else ():
                rows = {row.node: row.consumers for row in table.values()}
                self._compare(client.name, name, rows, truth.get(name, {}))

    def _compare(self, who: str, name: str, rows: Rows, so: Rows) -> None:
        is_wrong = rows != so and self._since[name] >= LASTING
        if is_wrong and self._wrong.count((who, name)) == LASTING:
            text = f"it knows {rows}, and {so} is so"
            self._scene.history.add(Event(self._scene.net.now, "wrong row", who, to=name, text=text))

    def _truth(self) -> dict[str, Rows]:
        """Return the number of non-local servers of each name by node, as the clients know them."""
        found: dict[str, Rows] = {}
        for client in self._partners():
            node = client.core.line.home
            for served in client.served.values():
                if served.epoch and not served.serving._local_only:
                    rows = found.setdefault(served.serving.address, {})
                    rows[node] = rows.get(node, 0) + 1
        return found

    def _known(self, node: HarshNode) -> Iterator[tuple[str, Rows]]:
        """Yield a node's rows of the names that it watches, and of all groups."""
        if not node.is_up or node.is_stopped:
            return
        parts, peers = node.core.parts, node.core.parts.neighbours.peers
        presence, members = parts.presence, parts.members
        for kind, name in presence._watching.names:
            rows = presence._registry.servers((kind, name))
            yield name, {peers[uuid].node.name: n for uuid, n in rows.items()}
        for name in filter(is_group, self._was):
            rows = members._registry.servers(name)
            yield name, {peers[uuid].node.name: n for uuid, n in rows.items()}
