"""The last known contents of queues at nodes that are unreachable now."""

# Law 1: only a node's own reports are remembered, and only for queues with messages: the figures of a queue
#   when a client asked for them, the total of all queues with each node state.
# Law 2: remembered figures are in no sum. They are shown with their age while the node is unreachable and not
#   forgotten.
# Law 3: an unreachable node counts as empty only if it left on purpose and its last state was empty. Messages
#   that it accepted between its last state and a crash are unknown.

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from mesh.features.queues.model.looking.parts import part_of, total
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import PeerForgotten
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.peer_address_book import PeerAddressBook
from mesh.kernel.peers.reach_table import ReachState
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.states.facts import StateReceived
from mesh.wire.replies import QueuePart, QueueRow

EACH, MOST = 1_000, 10_000  # queues remembered per node, and in total
LEAST = 0.001  # s: minimum age, as 0 means current


class AwayNode(NamedTuple):
    """An unreachable node that had messages in its queues at last contact.

    `part` is its last known part of the requested queue, or `None`. `messages` is the last reported number in
    all its queues.
    """

    node: str
    part: QueuePart | None
    messages: int


def may_hold(state: ReachState, queued: int | None) -> bool:
    """Return whether an unreachable node may have messages in its queues.

    `queued` is the last reported number of these messages, or `None` if none was reported.
    """
    return state is not ReachState.LEFT or queued != 0


class LastKnown(Component):
    """The remembered parts of queues, by queue and node; `peers` has the other nodes by uuid."""

    def __init__(
        self, context: NodeContext, nodes: Nodes, peers: Mapping[bytes, Peer], acquaintances: PeerAddressBook
    ) -> None:
        self._context = context
        self._nodes = nodes
        self._peers = peers
        self._acquaintances = acquaintances
        self._messages: dict[bytes, int] = {}  # by uuid: in all queues of that node
        self._parts: dict[str, dict[bytes, tuple[QueuePart, float]]] = {}  # with the time of the report
        self._of: dict[bytes, dict[str, None]] = {}  # queues by node, latest report last
        self._count = 0

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(StateReceived, self._on_state),
            on_fact(PeerForgotten, lambda fact: self._forget_node(fact.peer.node.uuid)),
        )

    def _on_state(self, fact: StateReceived) -> None:
        state = fact.known.state
        if not state.queued:
            self._forget_node(state.uuid)
        self._messages[state.uuid] = state.queued
        self._acquaintances.keep_queued(state.uuid, state.queued > 0)

    def _forget_node(self, uuid: bytes) -> None:
        self._messages.pop(uuid, None)
        for name in list(self._of.get(uuid, ())):
            self._drop(uuid, name)

    # --- reports ------------------------------------------------------------------------------------------

    def record_row(self, peer: Peer, row: QueueRow) -> None:
        """Remember a node's part of a queue, or forget it if the part is empty.

        At a limit, an older report is dropped.
        """
        uuid = peer.node.uuid
        self.none(peer, row.name)
        if not total((row.ready, row.out, row.delayed, row.going)):
            return
        if len(self._of.get(uuid, ())) >= EACH:
            self._drop(uuid, next(iter(self._of[uuid])))
        elif self._count >= MOST:
            most = max(self._of, key=lambda each: len(self._of[each]))
            self._drop(most, next(iter(self._of[most])))
        self._parts.setdefault(row.name, {})[uuid] = part_of(row), self._context.clock.now
        self._of.setdefault(uuid, {})[row.name] = None
        self._count += 1

    def none(self, peer: Peer, name: str) -> None:
        """Forget a node's part of a queue."""
        if name in self._of.get(peer.node.uuid, ()):
            self._drop(peer.node.uuid, name)

    def _drop(self, uuid: bytes, name: str) -> None:
        self._count -= 1
        del self._parts[name][uuid], self._of[uuid][name]
        if not self._parts[name]:
            del self._parts[name]
        if not self._of[uuid]:
            del self._of[uuid]

    # --- lookup -------------------------------------------------------------------------------------------

    def parts(self, name: str) -> dict[str, QueuePart | None]:
        """Return the remembered parts of a queue at unreachable nodes, by node name, each with its age."""
        found: dict[str, QueuePart | None] = {}
        for uuid, (part, at) in self._parts.get(name, {}).items():
            peer = self._peers.get(uuid)
            if peer is not None and self._nodes.is_away(peer):
                age = max(LEAST, self._context.clock.now - at)
                found[peer.node.name] = replace(part, node=peer.node.name, as_of=age)
        return found

    def away(self, name: str = "") -> list[AwayNode]:
        """Return the unreachable nodes that had messages in their queues, ordered by name.

        With `name`, each has its remembered part of that queue, if there is one.
        """
        parts, found = self.parts(name), list[AwayNode]()
        for peer in self._nodes.away():
            uuid, node = peer.node.uuid, peer.node.name
            messages, part = self._messages.get(uuid, 0), parts.get(node)
            if messages or part is not None or (not name and uuid in self._of):
                found.append(AwayNode(node, part, messages))
        return sorted(found, key=lambda each: each.node)

    def unknown(self, answered: Collection[bytes] = ()) -> list[str]:
        """Return the sorted names of nodes that cannot be asked and may have messages in their queues.

        The nodes in `answered` have just replied, and are left out.
        """
        away = {
            peer.node.name
            for uuid, peer in self._peers.items()
            if self._nodes.is_away(peer) and may_hold(peer.reach.state, self._messages.get(uuid))
        }
        not_met_since = self._acquaintances.with_queued(self._peers.keys())
        have_answered = {peer.node.name for uuid in answered if (peer := self._peers.get(uuid)) is not None}
        return sorted({*away, *self._nodes.unasked(), *not_met_since} - have_answered)
