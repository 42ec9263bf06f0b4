"""Drains of nodes with their clients: they begin, end and are watched, and an empty node is stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

from mesh.errors import LocalError
from mesh.kernel.context.incoming_call import IncomingCall
from mesh.kernel.context.leaving import Step
from mesh.wire.calls import AskDrain
from mesh.wire.envelope import decode
from mesh.wire.replies import NodeDrained
from tools.simulator.history import Event
from tools.simulator.stage.scene import Scene, Steps
from tools.simulator.world.machine import HarshNode

LOOK = 1.0  # s between two questions how far a drain is
CALM = 1.0  # s from the end of a drain until its node is stopped
WHO: Any = SimpleNamespace(text="/node/heron/client/admin", stream=b"")
LOCAL: Any = SimpleNamespace(user="", trusted=True)


@dataclass
class Drain:
    """A drain of one process, after which the node is stopped, and started again `back` s later."""

    boot: int
    back: float
    is_empty: bool = False
    following: int = 0  # next position of its log when the step LOG began; 0: not yet


def _is_left(node: str, drain: Drain, position: int, header: bytes, body: bytes) -> bool:
    """Return whether a stored envelope should have left: only new ones of other nodes may stay."""
    is_own = decode(header, body).route[0].node == node
    return is_own or position < drain.following


class Drains:
    """The drains of a scene."""

    def __init__(self, scene: Scene, start: Callable[[str], None]) -> None:
        self._scene, self._start = scene, start
        self._drains: dict[str, Drain] = {}  # by node

    @property
    def steps(self) -> Steps:
        return {"drain node": self._begin, "end drain": self._end}

    def _begin(self, name: str, back: float) -> None:
        node = self._scene.nodes[name]
        if node.is_up and name not in self._drains:
            self._drains[name] = drain = Drain(node.disk.boot, back)
            self._scene.fault("drained", name)
            node.awake(partial(self._watch, node, drain))
            self._ask(node, "begin")
            self._scene.net.after(LOOK, partial(self._look, name, drain))

    def _watch(self, node: HarshNode, drain: Drain) -> None:
        """Note the end of the log when the step LOG begins."""
        parts = node.core.parts
        enter = parts.context.leaving.enter_step

        def enters(step: Step, now: float) -> None:
            drain.following = parts.disk.shelf.next_position if step is Step.LOG else drain.following
            enter(step, now)

        vars(parts.context.leaving)["enter_step"] = enters

    def _end(self, name: str) -> None:
        if self._drains.pop(name, None) is not None:
            self._ask(self._scene.nodes[name], "cancel")

    def _look(self, name: str, drain: Drain) -> None:
        """Ask how far the drain is, and stop the node when it is empty."""
        node = self._scene.nodes[name]
        if self._drains.get(name) is not drain:
            return
        if not node.is_up or node.disk.boot != drain.boot:
            del self._drains[name]  # a drain ends with its process
        elif drain.is_empty:
            del self._drains[name]
            self._stop(node, drain)
        else:
            self._ask(node, "look")
            self._scene.net.after(LOOK, partial(self._look, name, drain))

    def _stop(self, node: HarshNode, drain: Drain) -> None:
        if not node.is_stopped:
            left = sum(_is_left(node.name, drain, *row) for row in node.store.load().envelopes)
            self._tell(node, "emptied", stamp=left + node.observer.queues.messages)
            self._scene.fault("close", node.name)
            node.close()
            self._scene.net.after(drain.back, lambda: self._start(node.name))

    def _ask(self, node: HarshNode, do: Any) -> None:
        """Ask a node as an operator on its machine does, without a session."""

        def asked() -> None:
            if not node.is_up:
                return
            call = IncomingCall(
                AskDrain(do=do), 0, WHO, LOCAL, lambda reply, _: self._on_reply(node, reply.value)
            )
            node.core.tick(node.now, node.wall)
            try:
                node.core.parts.context.face.client_verbs["drain"].then(call)
            except LocalError as error:
                self._drains.pop(node.name, None)
                self._tell(node, "drain refused", text=error.code, keys=tuple(self._staying(node)))
                self._scene.history.met(f"drain: {error.code}")
            node._carry_out_all()

        node.awake(asked)

    def _on_reply(self, node: HarshNode, value: Any) -> None:
        assert isinstance(value, NodeDrained)
        rows = tuple(f"{row.step} {row.fate} {row.count} {row.what} {row.node}" for row in value.left)
        self._tell(node, "drain", text=value.step, flags="c" * value.is_complete, keys=rows)
        drain = self._drains.get(node.name)
        if value.is_complete and drain is not None:
            drain.is_empty = not rows
            self._scene.history.met("a node drained")

    def _staying(self, node: HarshNode) -> list[str]:
        """Return the other nodes that run and are not drained."""
        others = (other for other in self._scene.nodes.values() if other is not node)
        return [
            o.name for o in others if o.is_up and not o.is_stopped and not o.core.parts.context.leaving.is_on
        ]

    def _tell(self, node: HarshNode, kind: str, **what: Any) -> None:
        self._scene.history.add(Event(self._scene.net.now, kind, node.name, node.disk.boot, **what))
