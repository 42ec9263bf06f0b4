"""Tracks live nodes that do not answer, so that questions wait for them only briefly.

A late answer may have waited for a broken connection, so the node is asked again. Slow nodes are also asked
periodically; otherwise the first question after a quiet time would not wait for a recovered node.
"""

from __future__ import annotations

from collections.abc import Callable

from mesh.flow.bounded import Bounded
from mesh.flow.seldom import Seldom
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import CONFIRM
from mesh.wire.commands import Introduction

SHORT = 0.25  # s that a question waits for slow nodes
TRY = 5.0  # s until a slow node is asked again
ENOUGH = 1.0  # s without an answer that make a node slow
TRIALS = 1024  # remembered questions whose answers are not awaited
SAY_AGAIN = 60.0  # s between two events about a node


class UnresponsivePeers:
    """The nodes that are slow, by uuid.

    A question that nothing waits for is a probe: an answer in time ends the slow state. `who` finds a node,
    `ask` sends a question that the node can answer immediately.
    """

    def __init__(
        self, context: NodeContext, who: Callable[[bytes], Introduction | None], ask: Callable[[bytes], None]
    ) -> None:
        self._context = context
        self._slow: dict[bytes, float] = {}  # time of the next trial
        self.version = 0  # of the slow nodes, counted as one is added
        self._events: dict[bytes, Seldom] = {}
        self._versions: dict[bytes, tuple[int, float]] = {}  # of interest, with the time of sending
        self._trials = Bounded[tuple[bytes, int], float](TRIALS)  # (node, question) -> deadline
        self._again: dict[bytes, float] = {}  # nodes asked again, and the end of the pause
        self._who = who
        self._ask = ask

    def __contains__(self, uuid: bytes) -> bool:
        return uuid in self._slow

    def waited_for(self, uuid: bytes, seconds: float) -> None:
        """Record that a node has not answered a question for `seconds`; from 1 s, the node is slow."""
        if seconds >= ENOUGH and uuid not in self._slow:
            self._slow[uuid] = self._context.clock.now + TRY
            self.version += 1
            if self._events.setdefault(uuid, Seldom(SAY_AGAIN)).allows(self._context.clock.now):
                self._report_event(
                    uuid, "is alive but does not answer; requests skip this node until it answers", "warning"
                )

    def answers(self, uuid: bytes) -> None:
        """Record an answer in time, after which the node is not slow."""
        if uuid in self._slow:
            del self._slow[uuid]
            self._report_event(uuid, "answers in time again", "info")

    # --- probes -----------------------------------------------------------------------------------------

    def tells(self, uuid: bytes, version: int, is_new: bool = False) -> None:
        """Record that a version of our interest was sent, unless an earlier version is not confirmed yet.

        With `is_new` the version was sent on a new connection, where earlier versions do not count.
        """
        if is_new or uuid not in self._versions:
            self._versions[uuid] = version, self._context.clock.now

    def confirmed(self, uuid: bytes, version: int) -> None:
        """Record that the node has confirmed that version of our interest."""
        known = self._versions.get(uuid)
        if known is not None and version >= known[0]:
            del self._versions[uuid]
            if self._context.clock.now - known[1] <= CONFIRM:
                self.answers(uuid)
            else:
                self._late(uuid)

    def tries(self, uuid: bytes, request: int, until: float) -> None:
        """Record a question whose answer is no longer awaited, but is in time until `until`."""
        self._trials.keep((uuid, request), until)

    def send_probes(self) -> None:
        """Ask the nodes whose probe is due."""
        for uuid in [uuid for uuid, due in self._slow.items() if due <= self._context.clock.now]:
            self._slow[uuid] = self._context.clock.now + TRY
            self._ask(uuid)

    def deadline(self) -> float | None:
        """Return when `send_probes` must be called next, or None."""
        return min(self._slow.values(), default=None)

    def tried(self, uuid: bytes, request: int) -> bool:
        """Record an answer, and return whether it was to a probe."""
        until = self._trials.pop((uuid, request), None)
        if until is not None and self._context.clock.now <= until:
            self.answers(uuid)
        elif until is not None:
            self._late(uuid)
        return until is not None

    def _late(self, uuid: bytes) -> None:
        """Ask a node with a late answer again, to see whether it now answers in time."""
        if uuid in self._slow and self._context.clock.now > self._again.get(uuid, -CONFIRM):
            self._again[uuid] = self._context.clock.now + CONFIRM
            self._ask(uuid)

    def forget_node(self, uuid: bytes) -> None:
        """Forget a dead node; its next process starts without a record."""
        for known in (self._slow, self._events, self._versions, self._again):
            known.pop(uuid, None)

    def _report_event(self, uuid: bytes, what: str, level: str) -> None:
        node = self._who(uuid)
        if node is not None:
            self._context.event("link", f"{node.name} {what}", node, level=level)
