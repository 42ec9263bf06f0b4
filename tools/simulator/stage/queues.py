"""The queues of a scenario: declarations, puts, consumers, and the check that all drain in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mesh.features.queues.node.definitions.declaring import QUEUE
from mesh.features.queues.node.keeping.rows import CONSUMER, MOVED
from mesh.features.queues.node.keeping.settlement_rows import PART
from mesh.names import PUTS, SUBS
from tools.simulator.checks.facts import Id
from tools.simulator.clients.hand import Hand
from tools.simulator.history import Event
from tools.simulator.script import Script
from tools.simulator.stage.scene import Scene, Steps
from tools.simulator.world.machine import HarshNode

TABLES = (QUEUE, PART, CONSUMER, MOVED)
OFTEN = 3  # samples
ALL = "all"  # consumers of everything in the end
CREDIT = 100
KINDS = "xy"  # kinds of messages; every third differs
GONE = 8.0  # s until nodes give up clients that vanished
WRITTEN = 4.0  # s until deferred rows are on disk


class Queues:
    """The queues of a scene, and the steps that concern them."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._samples = 0
        steps = scene.script.steps
        self._durables = sorted({str(s.args[1]) for s in steps if s.kind == "keep"})
        self._names = sorted({str(s.args[1]) for s in steps if s.kind == "declare"})
        self._names += [SUBS + name for name in self._durables]

    @property
    def steps(self) -> Steps:
        return {
            "declare": self._declare,
            "put": self._put,
            "take": self._take,
            "untake": lambda name, sub: self._of(name, lambda hand: hand.untake(sub)),
            "ack an old epoch": lambda name, sub: self._of(name, lambda hand: hand.say_stale(sub)),
            "claim": self._claim,
            "purge": lambda name, queue: self._ask(name, "queue_purge", queue),
            "remove": self._remove,
            "keep": lambda name, *what: self._of(name, lambda hand: hand.ask_durable(*what)),
            "keep no more": self._keep_no_more,
            "forget": self._forget,
            "move by hand": self._move,
            "info": lambda name, queue: self._ask(name, "queue_info", queue),
            "drain": self._drain,
        }

    def _of(self, name: str, then: Callable[[Hand], None]) -> None:
        client = self._scene.clients.get(name)
        if isinstance(client, Hand) and not client.is_closed:
            then(client)

    def _ask(self, name: str, verb: str, queue: str, **more: Any) -> None:
        self._of(name, lambda hand: hand.ask_queue(verb, name=queue, **more))

    def _declare(self, name: str, queue: str, said: str) -> None:
        """Declare a queue with the terms `said`, such as `max_count=20 when_full=reject`."""
        words = dict(word.split("=") for word in said.split())
        terms = {
            term: value.split(",") if term == "nodes" else _value(value) for term, value in words.items()
        }
        self._ask(name, "queue_declare", queue, terms=terms)

    def _remove(self, name: str, queue: str) -> None:
        self._scene.fault("queue removed", name, PUTS + queue)
        self._ask(name, "queue_remove", queue, if_unused=False)

    def _move(self, name: str, queue: str, to: str, n: int) -> None:
        self._tell("by hand", "")
        self._ask(name, "queue_move", queue, to=to, count=n)

    def _drain(self, name: str, do: str) -> None:
        """Begin or cancel the drain of a node.

        `name` is the client at that node.
        """
        if do == "begin":
            self._scene.fault("drained", name.removeprefix("boss-"), name)
        self._of(name, lambda hand: hand.ask_queue("queue_drain", do=do))

    def _keep_no_more(self, name: str, durable: str) -> None:
        self._scene.fault("queue removed", name, PUTS + SUBS + durable)
        self._of(name, lambda hand: hand.ask_queue("durable_remove", name=durable, if_unused=False))

    def _forget(self, name: str, node: str) -> None:
        """Declare a node gone for good."""
        self._scene.fault("forgotten", node, name)
        self._of(name, lambda hand: hand.forget_node(node))

    def _put(
        self,
        name: str,
        queue: str,
        n: int,
        flags: str,
        priority: int,
        delay: int,
        group: str,
        kind: str,
        ttl: float,
    ) -> None:
        now = self._scene.net.now
        contents = [f"{name} {now:.6f} {queue} {i}".encode() for i in range(n)]
        how, kinds = (priority, delay, group), (kind, kind, KINDS.replace(kind, ""))
        self._of(name, lambda hand: hand.put(queue, contents, flags, how, kinds, ttl))

    def _take(self, name: str, sub: str, *wanted: Any) -> None:
        self._of(name, lambda hand: None if sub in hand.takers else hand.take(sub, *wanted))

    def _claim(self, name: str, queue: str, other: str) -> None:
        if other in self._scene.clients:
            stream = self._scene.clients[other].stream
            self._of(name, lambda hand: hand.claim(queue, stream))

    # --- samples --------------------------------------------------------------------------------------------

    def sample(self) -> None:
        """Record messages that wait at two nodes, and sometimes all messages while all nodes are up."""
        if not self._names:
            return
        places: dict[Id, list[str]] = {}
        there: dict[Id, None] = {}
        nodes = [node for node in self._scene.nodes.values() if node.is_up]
        for node in nodes:
            for name, is_going in node.observer.queues.copies():
                there[name] = None
                if not is_going:
                    places.setdefault(name, []).append(node.name)
        for (stream, domain, number), at in places.items():
            if len(at) > 1:
                self._tell("doubled", ", ".join(at), stream=stream, domain=domain, first=number)
        self._samples += 1
        if len(nodes) == len(self._scene.nodes) and self._samples % OFTEN == 0:
            self._tell("there", "", keys=tuple(f"{s} {d} {n}" for s, d, n in there))

    def _tell(self, kind: str, text: str, **what: Any) -> None:
        self._scene.history.add(Event(self._scene.net.now, kind, "", text=text, **what))

    # --- the end ------------------------------------------------------------------------------------------

    def _hands(self) -> Iterator[Hand]:
        for client in list(self._scene.clients.values()):
            if isinstance(client, Hand) and not client.is_closed:
                yield client

    def use_up(self) -> None:
        """Start consumers of all queues: at each node, or at the one to which all messages move."""
        for queue in self._names:
            home = _home_of(self._scene.script, queue)
            for node in [home] if home else self._scene.nodes:
                self._take(f"asker-{node}", f"{ALL} {queue}", queue, CREDIT, "", 0, 0.0, "a")

    def are_empty(self) -> bool:
        nodes = [node for node in self._scene.nodes.values() if node.is_up]
        return not self._names or not any(node.observer.queues.messages for node in nodes)

    def end(self) -> None:
        """Record the messages left in queues, and the rows left after consumers and queues are removed."""
        if not self._names:
            return
        self._samples = -1
        self.sample()
        for node in self._scene.nodes.values():
            node.observer.queues.sample()
            self._left(node.name, "messages in queues", node.observer.queues.messages)
        for hand in self._hands():
            for sub in list(hand.takers):
                hand.untake(sub)
        self._scene.net.run(GONE)
        for node in self._scene.nodes.values():
            self._left(node.name, "rows of consumers", _rows_at(node, CONSUMER))
            for queue in self._names:
                if not queue.startswith(SUBS):
                    self._ask(f"asker-{node.name}", "queue_remove", queue, if_unused=False)
        for durable in self._durables:
            asker = f"asker-{next(iter(self._scene.nodes))}"
            self._ask(asker, "durable_remove", durable, if_unused=False)
        self._scene.net.run(WRITTEN)
        for node in self._scene.nodes.values():
            self._left(node.name, "rows of queues", _rows_at(node, *TABLES))

    def _left(self, node: str, what: str, count: int) -> None:
        self._scene.history.add(Event(self._scene.net.now, "left", node, text=what, stamp=count))


def _rows_at(node: HarshNode, *tables: str) -> int:
    """Return the number of rows of the tables in all stores of a node."""
    images = [node.store.load(), *(disk.load() for disk in node.others.values())]
    return sum(len(image.tables.get(table, ())) for image in images for table in tables)


def _value(text: str) -> Any:
    if text == "none":
        return None
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def _home_of(script: Script, queue: str) -> str:
    """Return the node to which all messages of the queue move, or "" if there is none.

    One consumer at that node suffices.
    """
    said = next((str(s.args[2]) for s in script.steps if s.kind == "declare" and s.args[1] == queue), "")
    words = dict(word.split("=") for word in said.split())
    stays = words.get("redistribution", "none") == "none" or words["distribution"] == "strict"
    if stays or any("is_silent_of" in settings for settings in script.own.values()):
        return ""
    homes = words["nodes"].split(",") if "nodes" in words else script.nodes
    return homes[script.seed % len(homes)]
