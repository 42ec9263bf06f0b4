"""Counts the messages that peers, disconnected clients and inboxes are still owed by a drained node."""

# Law: during LOG, a peer is owed what it was owed when the step began, until it has settled that. Newer
#      messages are on disk, and the peer receives them after the restart. So do clients with messages that
#      they have not read.

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
from mesh.kernel.subscribers.sessions import Sessions
from mesh.routing.peerfeed import PeerFeed


class OwedLog(Component):
    """Component that reports the messages which peers and clients have not received yet."""

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        nodes: Nodes,
        peers: dict[bytes, Peer],
        sessions: Sessions,
        inboxes: Inboxes,
    ) -> None:
        self._context = context
        self._disk = disk
        self._nodes = nodes
        self._peers = peers
        self._sessions = sessions
        self._inboxes = inboxes
        self._until: dict[bytes, int] = {}  # by uuid: number of the last slice when LOG began
        self._below = inf  # position of this node's log at which LOG began

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(LeavingChanged, lambda _: self._on_leaving()),)

    def _on_leaving(self) -> None:
        if self._context.leaving.step < Step.LOG:
            self._until.clear()
            self._below = inf
        elif self._below == inf:
            self._until.update((uuid, feed.offered) for uuid, _, feed in self._feeds())
            self._below = self._disk.shelf.next_position

    def _feeds(self) -> Iterator[tuple[bytes, str, PeerFeed]]:
        for uuid, peer in self._peers.items():
            if peer.begun is not None:
                yield uuid, peer.node.name, peer.begun.feed

    def remains(self) -> Iterator[Left]:
        yield from self._of_peers()
        unread = {True: 0, False: 0}  # by whether a client reads the inbox
        for inbox in self._inboxes.feeds():
            unread[inbox.connected] += inbox.pending
        kept = f"their clients are away; persistent ones stay on the disk of {self._context.me.name}"
        rows = (
            ("direct messages", unread[True], "their clients have not read them"),
            ("direct messages", unread[False], kept),
            ("messages of subscriptions", self._of_subscriptions(), kept),
        )
        for what, amount, why in rows:
            if amount:
                yield Left(Step.LOG, what, amount, Fate.WAITS, why=why)

    def _of_peers(self) -> Iterator[Left]:
        for uuid, name, feed in self._feeds():
            pending = feed.pending_until(self._until.get(uuid, feed.offered))
            unsettled = feed.unsettled(self._context.me.uuid, self._below)
            if (owed := pending + unsettled) > 0:
                fate = Fate.MOVES if self._nodes.is_alive(name) else Fate.WAITS
                yield Left(Step.LOG, "messages of the log", owed, fate, name)

    def _of_subscriptions(self) -> int:
        """Return the number of messages for disconnected sessions that are at no other node."""
        me, visits = self._context.me.uuid, self._context.visits
        return sum(
            feed.pending
            for session in self._sessions.by_stream.values()
            if session.conn is None and not visits.has_left(session.stream, me)
            for feed in session.feeds.values()
        )
