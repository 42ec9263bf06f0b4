"""Reports the names that this node has to nodes with `nameservice`."""

# Law 1: a node without followers computes and sends nothing.
# Law 2: a follower receives all names first, and then the difference to the last report, at most every EVERY.
# Law 3: commands to a follower are numbered from 1 on each connection.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from mesh.features.where.wire import FollowNames, NameRow, Names
from mesh.flow.parts import changes, cut_by_size
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn, LoggedOut, PeerLost
from mesh.kernel.peers.peer import Peer
from mesh.wire.envelope import Envelope
from mesh.wire.limits import NAMES_OF_NODE, WHERE

EVERY = 2.0  # s between two reports
FOLLOWERS = 16  # nodes with `nameservice`; further ones get no reports
ROW = 24  # bytes of a row without its name


class NameReports(Component):
    """Component that reports the names of this node to the nodes with `nameservice`."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context
        self._followers: dict[Peer, int] = {}  # number of the last command to each
        self._reported: set[NameRow] = set()
        self._next = 0.0  # time of the next report

    def features(self) -> Sequence[str]:
        return (WHERE,)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, lambda fact: self._forget(fact.peer)),
            on_fact(LoggedOut, lambda fact: self._forget(fact.peer)),
            on_fact(PeerLost, lambda fact: self._forget(fact.peer)),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(FollowNames, self._on_follow),)

    @property
    def servers(self) -> list[str]:
        """The names of the nodes with `nameservice` that follow this node."""
        return [peer.node.name for peer in self._followers]

    def _on_follow(self, conn: Conn, peer: Peer, command: FollowNames, _: list[Envelope]) -> None:
        if conn is not peer.data or (peer not in self._followers and len(self._followers) >= FOLLOWERS):
            return
        self._report()  # the others get the difference, so that all know the same
        if peer not in self._followers:
            self._followers[peer] = 0
            self._send(peer, set(), self._reported)

    def on_second(self) -> None:
        if self._followers and self._context.clock.now >= self._next:
            self._report()

    def _report(self) -> None:
        """Send the changes since the last report."""
        self._next = self._context.clock.now + EVERY
        before, self._reported = self._reported, set(islice(self._used(), NAMES_OF_NODE))
        removed, added = before - self._reported, self._reported - before
        if removed or added:
            for peer in self._followers:
                self._send(peer, removed, added)

    def _used(self) -> Iterator[NameRow]:
        for kind, table in self._context.face.named_here.items():
            yield from ((kind, name) for name in table.used())

    def _send(self, peer: Peer, removed: set[NameRow], added: set[NameRow]) -> None:
        for add, remove, has_more in changes(cut_by_size(removed, _size), cut_by_size(added, _size)):
            self._followers[peer] += 1
            self._context.out.send(peer.data, Names(self._followers[peer], has_more, add, remove))

    def _forget(self, peer: Peer) -> None:
        self._followers.pop(peer, None)
        if not self._followers:
            self._reported = set()


def _size(row: NameRow) -> int:
    return ROW + 4 * len(row[1])
