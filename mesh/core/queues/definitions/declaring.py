"""Which queues are declared? Those of the mesh are rows that all nodes share, those of a node are its own."""

# Law 1: of two definitions of the mesh the one with the higher stamp counts, at every node. So of two nodes
#        that declare apart one hears later that it has lost, and says so.
# Law 2: a queue of this node alone comes before one of the mesh with its name, which others declared since.
# Law 3: a definition that a peer tells may count or be refused. It never fails, nor stops, what is here.

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from heapq import nlargest
from itertools import chain
from operator import eq

from mesh.core.desk.desk import Desk
from mesh.core.desk.disk import Disk
from mesh.core.desk.part import Beginning, Part
from mesh.core.peers.peer import Peer
from mesh.core.rules.shared import RowKind, Shared
from mesh.errors import LocalError, MeshError, QueueExists
from mesh.names import LONGEST_QUEUE, check_queue
from mesh.operations import Delete, Put
from mesh.queues.declared.definition import QueueTerms, check_own, differences, packed, unpacked
from mesh.shared.row import SharedRow
from mesh.wire.limits import DURABLE

QUEUE = "queue"  # the kind of rows, and of events; on disk the table of a node's own
MOST = 10_000  # queues that a node declares; what others have declared has the bounds of the shared table
ALIKE = 50  # names that are compared closely: that takes milliseconds,
REMEMBERED = 1000  # … so answers are kept

TermsChanged = Callable[[str, QueueTerms | None], None]


class Declaring(Part):
    """The definitions of all queues. `changed(name, terms)` is told what counts from now on, None: nothing.

    All of it rides along with the next commit, as a first message does that is put.
    """

    def __init__(self, desk: Desk, disk: Disk, shared: Shared, changed: TermsChanged) -> None:
        self._desk = desk
        self._disk = disk
        self._shared = shared
        self._says = changed
        self._own: dict[str, QueueTerms] = {}
        self._mesh: dict[str, tuple[QueueTerms, bytes]] = {}  # and the uuid of the node that declared it
        self._near: dict[str, str] = {}
        self._has_begun = False
        shared.add(RowKind(QUEUE, self._check, self._changed))

    def figures(self) -> dict[str, int | float]:
        return {"queues_declared": len(self._own.keys() | self._mesh.keys())}

    # --- what counts --------------------------------------------------------------------------------------

    def get(self, name: str) -> QueueTerms | None:
        """The terms of the queue of that name; None: there is none."""
        own = self._own.get(name)
        if own is not None:
            return own
        known = self._mesh.get(name)
        return known[0] if known is not None else None

    def names(self) -> list[str]:
        """The names of all, in order."""
        return sorted(self._own.keys() | self._mesh.keys())

    def was_removed(self, name: str) -> bool:
        """Was there a queue of the mesh with that name, and is there none now?"""
        row = self._shared.get(QUEUE, name)
        return row is not None and not row.value and name not in self._own

    def near(self, name: str) -> str:
        """The name of a queue that is much like this one, for a hint; "" without any."""
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
            """Characters that stand in their places, from the front and from the back."""
            alike: Iterator[bool] = chain(map(eq, name, other), map(eq, backwards, other[::-1]))
            return sum(alike)

        most = max(2, length // 4)  # characters that it is longer, or shorter
        others = (n for n in self.names() if n != name and abs(len(n) - length) <= most)
        found = get_close_matches(name, nlargest(ALIKE, others, key=likeness), n=1)
        return found[0] if found else ""

    # --- declaring ----------------------------------------------------------------------------------------

    def declare(self, name: str, terms: QueueTerms, by: str) -> QueueTerms:
        """Declare it; to say the same again does no harm. `by`: who wants it, for an event.

        BadName, BadArgument, QueueExists with each difference; LocalError TOO_MANY_QUEUES, TOO_MANY_ROWS.
        """
        check_own(check_queue(name), terms)
        known = self.get(name)
        if known is None:
            self._declare(name, terms)
            self._desk.event(QUEUE, f"{name!r} was declared by {by}")
        elif known != terms:
            what = f"the queue {name!r} was declared otherwise: {', '.join(differences(known, terms))}."
            raise QueueExists(what, hint="Declare it as it is, or remove it first.")
        return terms

    def _declare(self, name: str, terms: QueueTerms) -> None:
        if len(self._own) + len(self._mesh) >= MOST:
            what = f"{MOST:,} queues are declared, that is the most."
            hint = "Remove some, or put messages with a key each into one queue."
            raise LocalError(what, hint=hint, code="TOO_MANY_QUEUES")
        if terms.scope == "node":
            key, value = name.encode(), packed(terms)
            self._own[name] = terms
            self._disk.later(QUEUE, key, Put(QUEUE, key, value))
            self._tell(name)
        else:
            self._put(name, packed(terms))

    def remove(self, name: str, by: str) -> bool:
        """Remove it; was there any? Behind one of this node alone one of the mesh may come to light."""
        if self._own.pop(name, None) is not None:
            key = name.encode()
            self._disk.later(QUEUE, key, Delete(QUEUE, key))
            self._tell(name)
        elif name in self._mesh:
            self._put(name, b"")
        else:
            return False
        self._desk.event(QUEUE, f"{name!r} was removed by {by}")
        return True

    def spread(self, name: str, then: Callable[[], None]) -> None:
        """Have all nodes know it that can be asked; `then` when they do, or do not answer."""
        if name in self._own or self._shared.get(QUEUE, name) is None:
            then()
        else:
            self._shared.spread(QUEUE, name, DURABLE, then)

    def _put(self, name: str, value: bytes) -> None:
        self._shared.put(QUEUE, name, self._shared.stamp(QUEUE, name), value)

    def _tell(self, name: str) -> None:
        self._near.clear()
        if self._has_begun:
            self._says(name, self.get(name))

    # --- the rows -----------------------------------------------------------------------------------------

    def _check(self, row: SharedRow) -> None:
        """LocalError or RemoteError for a row that defines no queue."""
        check_queue(row.name)
        if row.value:
            terms = unpacked(row.value)
            check_own(row.name, terms)
            if terms.scope != "mesh":
                raise LocalError("a queue of one node alone is no matter of others.", code="BAD_ROW")

    def _changed(self, row: SharedRow, by: Peer | None) -> None:
        """What that row says counts from now on."""
        name, counted = row.name, self.get(row.name)
        old = self._mesh.pop(name, None)
        if row.value:
            self._mesh[name] = (unpacked(row.value), row.author)
        if by is not None:
            self._compare(name, old, by)
        if self.get(name) != counted:
            self._tell(name)

    def _compare(self, name: str, old: tuple[QueueTerms, bytes] | None, by: Peer) -> None:
        """Say it if another node has declared otherwise what was declared here."""
        new = self._mesh.get(name)
        if new is None:
            return
        who = by.node.name
        if name in self._own:
            if old is None:
                text = f"{name!r} is a queue of this node alone, and {who} says that the mesh has one, too"
                self._desk.event(QUEUE, text, by.node, level="warning")
        elif old is not None and old[1] == self._desk.me.uuid and old[0] != new[0]:
            what = ", ".join(differences(new[0], old[0]))
            text = f"{name!r} was declared elsewhere, too, and later: {what} as here, says {who}"
            self._desk.event(QUEUE, text, by.node, level="warning")

    def start(self, beginning: Beginning) -> None:
        """The rows of the mesh are there already; now those of this node."""
        for key, value in beginning.rows(QUEUE).items():
            try:
                name, terms = check_queue(key.decode()), unpacked(value)
            except (MeshError, UnicodeDecodeError) as error:
                self._desk.note("warning", f"the definition of a queue cannot be read: {error}")
            else:
                self._own[name] = terms
        self._has_begun = True
        for name in self.names():
            self._says(name, self.get(name))
