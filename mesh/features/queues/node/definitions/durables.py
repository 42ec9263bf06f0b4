"""Durable subscriptions: shared rows, and a queue at each node for each subscription."""

# Law 1: the definition with the highest timestamp is in effect at every node, as for queues.
# Law 2: a node knows the bindings before it accepts messages. At a start they come from the disk and from the
#        nodes that answer; later the declaring node sends them before it answers its client.

from __future__ import annotations

from msgspec.structs import replace

from mesh.errors import LocalError, NoQueue, QueueExists
from mesh.features.queues.model.declared.durable import TERMS, DurableTerms, packed, said, unpacked
from mesh.features.queues.node.keeping.queues import Queues
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.durable_bindings import DurableBindings
from mesh.kernel.peers.peer import Peer
from mesh.kernel.sharing.shared import RowKind, Shared
from mesh.names import SUBS, check_durable
from mesh.shared.row import SharedRow
from mesh.wire.limits import DURABLE

DURABLES = "durable"  # kind of rows and events
MOST = 1000  # limit for declarations made here
DROP_OLDEST = "drop_oldest"  # limits.durable_full; or "reject"
TAKEN = 2 * MOST  # limit with peers' rows, as each message is matched


class Durables(Component):
    """Component with all durable subscriptions by name; each has the queue sub/NAME."""

    def __init__(
        self, context: NodeContext, shared: Shared, queues: Queues, bindings: DurableBindings
    ) -> None:
        self._context = context
        self._shared = shared
        self._queues = queues
        self._bindings = bindings
        self._all: dict[str, tuple[DurableTerms, bytes]] = {}  # with the uuid of the declaring node
        self._has_begun = False
        shared.add(RowKind(DURABLES, self._check, self._on_row_changed, is_early=True))

    def features(self) -> tuple[str, ...]:
        return (DURABLE,)

    def figures(self) -> dict[str, int | float]:
        return {"durable_subscriptions": len(self._all)}

    def terms_of(self, name: str) -> DurableTerms | None:
        known = self._all.get(name)
        return known[0] if known is not None else None

    def was_removed(self, queue: str) -> bool:
        """Return whether `queue` belonged to a durable subscription that is known to be removed."""
        if not queue.startswith(SUBS):
            return False
        row = self._shared.get_row(DURABLES, queue.removeprefix(SUBS))
        return row is not None and not row.value

    def declare_durable(self, name: str, durable: DurableTerms, by: str) -> None:
        """Declare a durable subscription, or confirm an equal declaration.

        `by` names the requester in the event. Raises: BadName, QueueExists, LocalError (TOO_MANY_QUEUES,
        TOO_MANY_ROWS).
        """
        check_durable(name)
        known = self.terms_of(name)
        if known is None:
            if len(self._all) >= MOST:
                what = f"The mesh has {len(self._all):,} durable subscriptions; the limit is {MOST:,}."
                hint = "Remove some with `mesh unsub NAME`. Subscribers that use the same name share one."
                raise LocalError(what, hint=hint, code="TOO_MANY_QUEUES")
            self._write_row(name, packed(durable))
            self._context.event(DURABLES, f"{name!r} was declared by {by}: {said(durable)}")
        elif known != durable:
            has_kinds = said(known) == said(durable)  # a key, and a pattern without wildcards
            queries = "queries" if len(known.queries) > 1 else "query"
            what = f"has the {queries} {said(known, has_kinds)}, not {said(durable, has_kinds)}"
            raise QueueExists(
                f"The durable subscription {name!r} {what}.",
                hint="Use the same query or another name, or remove it with `mesh unsub` first, with its "
                "messages.",
            )

    def remove_durable(self, name: str, by: str) -> None:
        """Remove a durable subscription with its messages. Raises: NoQueue."""
        self.check_known(name)
        self._write_row(name, b"")
        self._context.event(DURABLES, f"{name!r} was removed by {by}")

    def check_known(self, name: str) -> None:
        """Check that the durable subscription exists. Raises: NoQueue."""
        if name not in self._all:
            what = f"The durable subscription {name!r} does not exist at {self._context.me.name}."
            raise NoQueue(
                what, hint="See `mesh queue ls`: the queues of durable subscriptions begin with sub/."
            )

    def _write_row(self, name: str, value: bytes) -> None:
        self._shared.write_row(DURABLES, name, self._shared.stamp(DURABLES, name), value)

    # --- the rows -----------------------------------------------------------------------------------------

    def _check(self, row: SharedRow) -> None:
        check_durable(row.name)
        if not row.value:
            return
        unpacked(row.value, row.title)
        if row.name not in self._all and len(self._all) >= TAKEN:
            what = f"The durable subscription {row.name!r} exceeds the limit of {TAKEN:,} in a mesh."
            raise LocalError(what, hint="Remove some with `mesh unsub NAME`.", code="TOO_MANY_ROWS")

    def _on_row_changed(self, row: SharedRow, by: Peer | None) -> None:
        name, old = row.name, self._all.pop(row.name, None)
        if row.value:
            new = self._all[name] = unpacked(row.value), row.author
            if by is not None and old is not None and old[1] == self._context.me.uuid and old[0] != new[0]:
                what = f"{name!r} was declared later elsewhere with another query: {said(new[0])}"
                self._context.event(
                    DURABLES, f"{what} (reported by {by.node.name})", by.node, level="warning"
                )
        if self._has_begun:
            self._counts(name)

    def start(self, beginning: Beginning) -> None:
        """Create the queues of all durable subscriptions, whose rows are already loaded."""
        self._has_begun = True
        for name in sorted(self._all):
            self._counts(name)

    def _counts(self, name: str) -> None:
        durable, queue = self.terms_of(name), SUBS + name
        if durable is None:
            known = self._queues.find(queue)
            if known is not None:
                self._bindings.unbind(known)
            self._queues.declared(queue, None)
        else:
            self._queues.declared(queue, replace(TERMS, max_bytes=self._context.settings.durable_bytes))
            part = self._queues.get(queue)
            part.queries = durable.queries
            part.drops_oldest = self._context.settings.durable_full == DROP_OLDEST
            self._bindings.bind_queue(part, durable.queries)
