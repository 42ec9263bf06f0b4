"""A search for the nodes that have a name: the asked nodes and their reports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mesh.features.where.model import AWAY, NODE, Named, Progress, merged, valid
from mesh.kernel.context.incoming_call import IncomingCall
from mesh.kernel.context.pages import NAMES
from mesh.names import is_node_name
from mesh.wire.calls import AskLocate
from mesh.wire.replies import Located, Sighting

OF_PEER = 200  # rows of one node
NEAR = 3  # similar names of one node


class Round(NamedTuple):
    """The nodes to ask together, for `within` seconds. `is_last`: no others are left."""

    names: Sequence[str]
    within: float
    is_last: bool


@dataclass(slots=True, eq=False)
class Search:
    """A search, from the first question to the reply to all waiting clients."""

    ask: AskLocate
    wanted: list[Named]
    waiting: list[IncomingCall[AskLocate]] = field(default_factory=list)
    deadline: float = 0.0
    rows: list[Sighting] = field(default_factory=list)
    near: dict[str, Sequence[str]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)  # this node, and asked nodes with a valid answer
    missing: set[str] = field(default_factory=set)
    unfollowed: set[str] | None = None  # nodes that no node with `nameservice` follows; None: not known

    def followed_by(self, others: Collection[str]) -> None:
        """Record that a node with `nameservice` answered for all nodes except `others`."""
        if len(others) < NAMES:  # a longer list was cut
            self.unfollowed = set(others) & (self.unfollowed if self.unfollowed is not None else set(others))

    def take(self, node: str, told: Located, life: Callable[[str], str], is_server: bool) -> None:
        """Record the answer of a node. `life` returns the state of a node, or "" if it is not known here."""
        self.answered.add(node)
        self.near[node] = told.near[:NEAR]
        for row in valid(told.sightings, self.wanted, node, OF_PEER):
            # Of other nodes, what is known here counts.
            if row.kind != NODE or row.node == node or not life(row.node):
                self.rows.append(row)
        if is_server:
            self.followed_by(told.missing)
        else:
            self.missing.update(filter(is_node_name, told.missing[:NAMES]))

    def progress(self, askable: Sequence[str], servers: Collection[str], me: str) -> Progress:
        """Return the knowledge that decides which nodes are asked next."""
        rows = merged(self.rows, self.answered)
        home = self.wanted[0].home
        is_local = home == me or {named.kind for named in self.wanted} == {NODE}
        is_followed = self.unfollowed is not None and self.asked.issuperset(self.unfollowed & set(askable))
        # A session that is away from its home may be connected elsewhere.
        sure = [row for row in rows if not (home and row.state == AWAY)]
        return Progress(
            askable=askable,
            servers=servers,
            claimed={row.node for row in rows if row.node != row.by and (row.kind, row.by) != (NODE, me)},
            asked=self.asked,
            home=home,
            is_found=any(row.node == row.by or row.kind == NODE for row in sure),
            is_complete=is_local or is_followed,
            is_followed=is_followed,
        )
