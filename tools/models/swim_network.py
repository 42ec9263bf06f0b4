"""Many memberships in one program, which exchange only requests and greetings."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from mesh.discovery.member import Node
from mesh.discovery.membership import Inform, SwimTiming
from tools.models.swim_node import SwimNode
from tools.models.swim_wires import SPEED, SwimWires


class SwimNetwork(SwimWires[SwimNode]):
    """The memberships of a mesh.

    With `has_hints`, the transport notices broken connections, as when a process dies and its machine does
    not.
    """

    def __init__(
        self,
        seed: int,
        *,
        loss: float = 0.0,
        is_tcp: bool = True,
        has_hints: bool = False,
        timing: SwimTiming | None = None,
    ) -> None:
        super().__init__(seed, loss, is_tcp, timing)
        self.has_hints = has_hints

    def start(self, name: str, boot: int = 1, uuid: bytes = b"", seeds: Iterable[str] = ()) -> SwimNode:
        """Start a process, which dials its seeds."""
        uuid = uuid or name.encode().rjust(16, b".")
        node = SwimNode(self, Node(uuid, name, boot, f"tcp://{name}:{7000 + boot}"))
        self.processes.setdefault(uuid, []).append(node)
        for seed in seeds:
            node.act(node.members.sight(self[seed].node, "seed", self.now))
        return node

    def together(self, size: int) -> list[SwimNode]:
        """Start `size` nodes that all have met already, without rumors about each other, and return them."""
        nodes = [self.start(f"n{i}") for i in range(size)]
        for node in nodes:
            for other in nodes:
                if other is not node:
                    node.members.on_introduction(other.node, self.now)
                    node.members._detector._news.drop(other.node.uuid)
            node.linked = {other.node.uuid for other in nodes if other is not node}
            node.wake()
        return nodes

    def __getitem__(self, name: str) -> SwimNode:
        """Return the newest process with that name."""
        return next(p[-1] for p in reversed(self.processes.values()) if p[-1].name == name)

    def kill(self, node: SwimNode) -> None:
        """End a node like kill -9; with hints its machine reports the closed connections."""
        node.is_up = False
        for other in self._all():
            if self.has_hints and not self.is_cut(node, other):
                self.after(self.random.random() * SPEED, other.disconnected, node.node.uuid)
            elif not self.has_hints:
                other.linked.discard(node.node.uuid)

    def leave(self, node: SwimNode) -> None:
        """End a node with a goodbye to its connected peers."""
        for uuid in node.linked:
            other = self.process(uuid)
            self.after(SPEED, self._bye, other, node)
            self.send(node, other, Inform(uuid, node.members.goodbye()))
        node.is_up = False

    def _bye(self, other: SwimNode, node: SwimNode) -> None:
        if other.is_up:
            other.act(other.members.on_goodbye(node.node.uuid, node.node.boot, self.now))

    def pause(self, node: SwimNode, seconds: float) -> None:
        """Pause a node for `seconds`, as SIGSTOP and SIGCONT do."""
        node.paused = self.now
        self.after(seconds, self.resume, node)

    def resume(self, node: SwimNode) -> None:
        """Resume a node, which reads its input before it looks at the clock; no timer counts the pause."""
        if node.paused is None:
            return
        node.members.postpone(self.now - node.paused)
        node.paused = None
        inbox, node.inbox = node.inbox, []
        for sender, message in inbox:
            node.receive(sender, message)
        node.wakes_at = inf
        node.wake()

    def are_complete(self) -> bool:
        """Return whether all running nodes consider exactly the running nodes alive."""
        names = {node.name for node in self.up()}
        return all(node.alive() == names for node in self.up())
