"""Decides whether the author of a shared row may have written it."""

# Law 1: a row counts only with the signature of its author; rows of some kinds only with that of the admin.
# Law 2: an author is a node that this one knows as a member, or has met. A peer may vouch for rows of other
# authors: of nodes that others report, as this node may never reach them, and any older than the peer's last
# joining, as their authors may have left by then. At most VOUCHED such rows of one kind are accepted, so that
# no member fills a table with invented authors.

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from mesh.discovery.member import NodeLife
from mesh.errors import LocalError
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import PeerForgotten, PeerJoined
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.shared.row import SharedRow

VOUCHED = 5_000  # rows of one kind


class UnknownAuthor(LocalError):
    """The author of a row is not a known member.

    Other rows of the same reply may be valid.
    """


class Authors(Component):
    """Checks the authors of rows from other nodes.

    The authors of rows on this node's disk were checked before.
    """

    def __init__(self, context: NodeContext, neighbours: Neighbours) -> None:
        self._context = context
        self._neighbours = neighbours
        self._since: dict[bytes, int] = {}  # wall time at which a peer last joined
        self._vouched: defaultdict[str, set[str]] = defaultdict(set)  # names of rows, by kind

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(PeerJoined, self._on_peer_joined), on_fact(PeerForgotten, self._on_peer_forgotten))

    def _on_peer_joined(self, fact: PeerJoined) -> None:
        self._since[fact.peer.node.uuid] = self._context.clock.wall

    def _on_peer_forgotten(self, fact: PeerForgotten) -> None:
        self._since.pop(fact.peer.node.uuid, None)

    def is_signed(self, row: SharedRow, by_admin: bool) -> bool:
        """Return whether the row has the signature that Law 1 requires.

        A mesh without keys signs nothing, so every row passes.
        """
        keyring = self._context.settings.keyring
        if keyring is None:
            return True
        if by_admin:
            is_admins = bool(keyring.admin) and row.key == keyring.admin
            return is_admins and keyring.verify(row.key, row.signature, row.text)
        known = self._neighbours.acquaintances.key_of(row.author)
        if row.author == self._context.me.uuid:
            known = self._context.me.key
        return (not known or known == row.key) and keyring.verify(row.key, row.signature, row.text)

    def check_author(self, row: SharedRow, by: Peer) -> None:
        """Check that the peer `by` may send that row (Law 2). Raises: UnknownAuthor."""
        if self._is_known(row.author):
            return
        names = self._vouched[row.kind]
        since = self._since.get(by.node.uuid, 0) + max(0, by.ahead)  # by the peer's clock
        is_reported = self._neighbours.membership.member_of(row.author) is not None
        may_vouch = is_reported or row.stamp < since
        if may_vouch and (row.name in names or len(names) < VOUCHED):
            return
        key = f"key {row.key.hex()}" if row.key else "no key"
        more = f"; {VOUCHED:,} such rows are already accepted" if may_vouch else ""
        author = f"{row.author.hex()} ({key})"
        raise UnknownAuthor(
            f"The author of the {row.title} is not a known member of this mesh: {author}{more}.",
            hint=f"Ask the operator of {by.node.name} about that author.",
            code="UNKNOWN_AUTHOR",
        )

    def count_row(self, row: SharedRow) -> None:
        """Count the accepted row if its author is unknown; otherwise stop counting the row of that name."""
        if self._is_known(row.author):
            self.forgotten(row.kind, row.name)
        else:
            self._vouched[row.kind].add(row.name)

    def forgotten(self, kind: str, name: str) -> None:
        """Stop counting a row that no longer exists."""
        self._vouched[kind].discard(name)

    def _is_known(self, author: bytes) -> bool:
        if author == self._context.me.uuid or self._neighbours.acquaintances.has_met(author):
            return True
        member = self._neighbours.membership.member_of(author)
        return member is not None and member.state is not NodeLife.SEEN
