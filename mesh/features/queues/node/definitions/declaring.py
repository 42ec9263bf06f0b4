"""Declarations of queues: shared rows for queues of the mesh, local rows for queues of one node."""

# Law 1: the definition of a mesh queue with the highest timestamp is in effect at every node. A node whose
#        definition is replaced by a different one reports that in an event.
# Law 2: a queue of this node alone hides a mesh queue of the same name that another node declared.
# Law 3: a definition from a peer is checked before it is applied. An invalid one changes nothing here.

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from heapq import nlargest
from itertools import chain
from operator import eq

from mesh.errors import LocalError, MeshError, QueueExists
from mesh.features.queues.model.declared.definition import (
    QueueTerms,
    check_own,
    differences,
    packed,
    unpacked,
)
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.sharing.shared import RowKind, Shared
from mesh.names import LONGEST_QUEUE, check_queue
from mesh.operations import Delete, Put
from mesh.shared.row import SharedRow
from mesh.wire.limits import DURABLE

QUEUE = "queue"  # kind of rows and events; table of local queues
MOST = 10_000  # limit for declarations made here, not for peers' rows
ALIKE = 50  # candidates for the slow comparison (milliseconds)
REMEMBERED = 1000  # cached answers of `similar_name`

TermsChanged = Callable[[str, QueueTerms | None], None]


class Declaring(Component):
    """Component with the definitions of declared queues; those of durable subscriptions are in `Durables`.

    `changed(name, terms)` is called with the terms that are now in effect, or `None` if there are none. Local
    rows are written with the next commit.
    """

    def __init__(self, context: NodeContext, disk: Disk, shared: Shared, changed: TermsChanged) -> None:
        self._context = context
        self._disk = disk
        self._shared = shared
        self._says = changed
        self._own: dict[str, QueueTerms] = {}
        self._mesh: dict[str, tuple[QueueTerms, bytes]] = {}  # with the uuid of the declaring node
        self._near: dict[str, str] = {}
        self._has_begun = False
        shared.add(RowKind(QUEUE, self._check, self._on_row_changed))

    def figures(self) -> dict[str, int | float]:
        return {"queues_declared": len(self._own.keys() | self._mesh.keys())}

    # --- definitions in effect ----------------------------------------------------------------------------

    def terms_of(self, name: str) -> QueueTerms | None:
        """Return the terms of the queue that are in effect here, or `None` if it is not declared."""
        own = self._own.get(name)
        if own is not None:
            return own
        known = self._mesh.get(name)
        return known[0] if known is not None else None

    def names(self) -> list[str]:
        """Return the names of all declared queues, sorted."""
        return sorted(self._own.keys() | self._mesh.keys())

    def was_removed(self, name: str) -> bool:
        """Return whether a mesh queue of that name is known to be removed, and no local one is declared."""
        row = self._shared.get_row(QUEUE, name)
        return row is not None and not row.value and name not in self._own

    def similar_name(self, name: str) -> str:
        """Return the most similar queue name for a hint in an error, or "" if none is similar."""
        name = name[:LONGEST_QUEUE]
        found = self._near.get(name)
        if found is None:
            if len(self._near) >= REMEMBERED:
                self._near.clear()
            found = self._near[name] = self._nearest(name)
        return found

    def _nearest(self, name: str) -> str:
        length, backwards = len(name), name[::-1]

        def likeness(other: str) -> int:
            """Return how many characters are equal by position, from the front plus from the back."""
            alike: Iterator[bool] = chain(map(eq, name, other), map(eq, backwards, other[::-1]))
            return sum(alike)

        most = max(2, length // 4)  # difference in length
        others = (n for n in self.names() if n != name and abs(len(n) - length) <= most)
        found = get_close_matches(name, nlargest(ALIKE, others, key=likeness), n=1)
        return found[0] if found else ""

    # --- declaring ----------------------------------------------------------------------------------------

    def declare_queue(self, name: str, terms: QueueTerms, by: str) -> QueueTerms:
        """Declare a queue, or confirm an equal declaration, and return its terms.

        `by` names the requester in the event. Raises: BadName, BadArgument, QueueExists with the differences,
        LocalError (TOO_MANY_QUEUES, TOO_MANY_ROWS).
        """
        check_own(check_queue(name), terms)
        known = self.terms_of(name)
        if known is None:
            self._declare(name, terms)
            self._context.event(QUEUE, f"{name!r} was declared by {by}")
        elif known != terms:
            what = (
                f"The queue {name!r} was declared with other options: {', '.join(differences(known, terms))}."
            )
            raise QueueExists(what, hint="Declare it with these options, or delete it first.")
        return terms

    def _declare(self, name: str, terms: QueueTerms) -> None:
        if (known := len(self._own) + len(self._mesh)) >= MOST:
            what = f"{self._context.me.name} knows {known:,} queues; the limit is {MOST:,}."
            hint = "Delete some, or put messages with different keys into one queue."
            raise LocalError(what, hint=hint, code="TOO_MANY_QUEUES")
        if terms.scope == "node":
            key, value = name.encode(), packed(terms)
            self._own[name] = terms
            self._disk.later(QUEUE, key, Put(QUEUE, key, value))
            self._announce_terms(name)
        else:
            self._write_row(name, packed(terms))

    def remove_queue(self, name: str, by: str) -> bool:
        """Remove a queue, and return whether it was declared.

        Removing a queue of this node alone may reveal a mesh queue of the same name.
        """
        if self._own.pop(name, None) is not None:
            key = name.encode()
            self._disk.later(QUEUE, key, Delete(QUEUE, key))
            self._announce_terms(name)
        elif name in self._mesh:
            self._write_row(name, b"")
        else:
            return False
        self._context.event(QUEUE, f"{name!r} was deleted by {by}")
        return True

    def spread(self, name: str, then: Callable[[], None]) -> None:
        """Send the definition of a mesh queue to all reachable nodes, and then call `then`.

        `then` is called when each node has stored the definition or has not answered in time. For a queue of
        this node alone, `then` is called immediately.
        """
        if name in self._own or self._shared.get_row(QUEUE, name) is None:
            then()
        else:
            self._shared.spread(QUEUE, name, DURABLE, then)

    def _write_row(self, name: str, value: bytes) -> None:
        self._shared.write_row(QUEUE, name, self._shared.stamp(QUEUE, name), value)

    def _announce_terms(self, name: str) -> None:
        self._near.clear()
        if self._has_begun:
            self._says(name, self.terms_of(name))

    # --- the rows -----------------------------------------------------------------------------------------

    def _check(self, row: SharedRow) -> None:
        check_queue(row.name)
        if row.value:
            terms = unpacked(row.value)
            check_own(row.name, terms)
            if terms.scope != "mesh":
                what = f'The queue {row.name!r} has scope "node", so its definition must not be shared.'
                raise LocalError(what, code="BAD_ROW")

    def _on_row_changed(self, row: SharedRow, by: Peer | None) -> None:
        name, counted = row.name, self.terms_of(row.name)
        old = self._mesh.pop(name, None)
        if row.value:
            self._mesh[name] = (unpacked(row.value), row.author)
        if by is not None:
            self._compare(name, old, by)
        if self.terms_of(name) != counted:
            self._announce_terms(name)

    def _compare(self, name: str, old: tuple[QueueTerms, bytes] | None, by: Peer) -> None:
        """Report in an event if a row from a peer conflicts with a definition made here."""
        new = self._mesh.get(name)
        if new is None:
            return
        who = by.node.name
        if name in self._own:
            if old is None:
                text = f"{name!r} is a queue of this node only, but {who} has a mesh-wide queue of that name"
                self._context.event(QUEUE, text, by.node, level="warning")
        elif old is not None and old[1] == self._context.me.uuid and old[0] != new[0]:
            what = ", ".join(differences(new[0], old[0]))
            text = f"{name!r} was declared later at {who} with other options: {what} as here"
            self._context.event(QUEUE, text, by.node, level="warning")

    def start(self, beginning: Beginning) -> None:
        """Load the local definitions, except damaged ones, and report the terms of all declared queues.

        The rows of the mesh are already loaded.
        """
        for key, value in beginning.rows(QUEUE).items():
            try:
                name, terms = check_queue(key.decode()), unpacked(value)
            except (MeshError, UnicodeDecodeError) as error:
                name = repr(key.decode(errors="replace"))
                self._context.out.log_line(
                    "warning", f"the definition of the queue {name} is damaged: {error}"
                )
            else:
                self._own[name] = terms
        self._has_begun = True
        for name in self.names():
            self._says(name, self.terms_of(name))
