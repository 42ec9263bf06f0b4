"""Counts what the peers of a drained node are owed of its log, and the direct messages in its inboxes."""

# Law: during LOG, a peer is owed what it was owed when the step began, until it has settled that. Newer
#      messages are on disk, and the peer receives them after the restart. So do clients with a direct message
#      that they have not read.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from mesh.kernel.context.component import Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, LeavingChanged, on_fact
from mesh.kernel.context.leaving import Fate, Left, Step
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.subscribers.inboxes import Inboxes
from mesh.routing.peerfeed import PeerFeed


class OwedLog(Component):
    """Component that reports the messages which peers and the owners of inboxes have not received yet."""

    def __init__(
        self, context: NodeContext, disk: Disk, nodes: Nodes, peers: dict[bytes, Peer], inboxes: Inboxes
    ) -> None:
        self._context = context
        self._disk = disk
        self._nodes = nodes
        self._peers = peers
        self._inboxes = inboxes
        self._until: dict[bytes, int] = {}  # by uuid: number of the last slice when LOG began
        self._below = inf  # position of this node's log at which LOG began

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(LeavingChanged, lambda _: self._on_leaving()),)

    def _on_leaving(self) -> None:
        self._until.clear()
        self._below = inf
        if self._context.leaving.step >= Step.LOG:
            self._until.update((uuid, feed.offered) for uuid, _, feed in self._feeds())
            self._below = self._disk.shelf.next_position

    def _feeds(self) -> Iterator[tuple[bytes, str, PeerFeed]]:
        for uuid, peer in self._peers.items():
            if peer.begun is not None:
                yield uuid, peer.node.name, peer.begun.feed

    def remains(self) -> Iterator[Left]:
        for uuid, name, feed in self._feeds():
            pending = feed.pending_until(self._until.get(uuid, feed.offered))
            unsettled = feed.unsettled(self._context.me.uuid, self._below)
            if (owed := pending + unsettled) > 0:
                fate = Fate.MOVES if self._nodes.is_alive(name) else Fate.WAITS
                yield Left(Step.LOG, "messages of the log", owed, fate, name)
        unread = {True: 0, False: 0}  # by whether a client reads the inbox
        for inbox in self._inboxes.feeds():
            unread[inbox.connected] += inbox.pending
        kept = f"their clients are away; persistent ones stay on the disk of {self._context.me.name}"
        for is_read, why in ((True, "their clients have not read them"), (False, kept)):
            if unread[is_read]:
                yield Left(Step.LOG, "direct messages", unread[is_read], Fate.WAITS, why=why)
