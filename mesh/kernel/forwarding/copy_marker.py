"""Marks the copies of a message for several masters, so that only one serves durable subscriptions."""

from __future__ import annotations

from msgspec.structs import replace

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.router import Router
from mesh.kernel.forwarding.dirty_reads import DirtyReads
from mesh.kernel.forwarding.route_decisions import TO_MASTER
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.mapping.decision import Decision, Kind
from mesh.mapping.mapping import Mapping
from mesh.routing.first import first_of, mark
from mesh.routing.pending_forward import PendingForward
from mesh.wire.envelope import FIRST, JOINT, MARKS, NO_RELAY, RESENT, SECOND, TAILED, Envelope
from mesh.wire.limits import DIRTY, DURABLE, STAYS


class CopyMarker:
    """Chooses the FIRST master of a message; see mesh/routing/first.py for the laws."""

    def __init__(
        self, context: NodeContext, router: Router, nodes: Nodes, mapping: Mapping, provisional: DirtyReads
    ) -> None:
        self._context = context
        self._router = router
        self._nodes = nodes
        self._mapping = mapping
        self._provisional = provisional

    def takes(self, node: str) -> bool | None:
        """Return whether a node understands the mark FIRST; `None` if the node is unknown or unreachable."""
        if node == self._context.me.name:
            return True
        peer = self._nodes.named(node)
        return DURABLE in peer.speaks if peer is not None and self._nodes.is_alive(node) else None

    def decided(self, entry: PendingForward, decision: Decision) -> None:
        """Choose the FIRST master for a new decision.

        Messages that durable subscriptions may lack as a result are reported as missing.
        """
        me = self._context.me.name
        masters = decision.hops if decision.to_master else ()
        if decision.kind is Kind.HERE:
            masters = (me, *masters)
        first, open_numbers = entry.first, entry.open
        if mark(entry, masters, me, self.takes):
            lacking = entry.lacking.get(first, open_numbers) if first else open_numbers
            why = f"{first} has not confirmed them" if first else "no master can accept them for it"
            self._router.bindings.report_missing(entry.envelope, lacking.count(), why)

    # --- outbound ---------------------------------------------------------------------------------------

    def here(self, entry: PendingForward) -> Envelope:
        """Return the envelope with its mark, if any, as this node accepts it.

        If this node is the FIRST master, the entry is recorded as sent to the FIRST master.
        """
        if not entry.first:
            return self._perhaps_twice(entry, entry.envelope)
        is_first = entry.first == self._context.me.name
        entry.first_was_sent |= is_first
        return entry.envelope.marked(FIRST if is_first else SECOND)

    def to(self, peer: Peer, entry: PendingForward) -> Envelope:
        """Return the envelope with its mark, if any, as it leaves for a peer.

        Flags that the peer does not know are removed. If the peer is the FIRST master, the entry is recorded
        as sent to the FIRST master. The body of a dirty read is held here, if the peer supports that.
        """
        envelope = entry.envelope
        if STAYS not in peer.speaks:
            envelope = envelope.without(NO_RELAY)
        if DURABLE not in peer.speaks:
            return envelope.without(MARKS | RESENT)
        if not entry.first:
            envelope = self._perhaps_twice(entry, envelope) if entry.former else envelope
            is_held = entry.is_given and DIRTY in peer.speaks
            return self._provisional.hold_body(envelope) if is_held else envelope
        is_first = entry.first == peer.node.name
        entry.first_was_sent |= is_first
        return envelope.marked(FIRST if is_first else SECOND)

    def _perhaps_twice(self, entry: PendingForward, e: Envelope) -> Envelope:
        """Return the envelope, marked as FIRST and RESENT if another master or backup may already have it."""
        if not (entry.was_sent and self._mapping.has_backups and self._mapping.is_backed(e.keys[0], e)):
            return e
        return replace(e, flags=e.flags & ~MARKS | FIRST | RESENT)

    # --- inbound ----------------------------------------------------------------------------------------

    def of_older(self, envelope: Envelope) -> Envelope:
        """Return an envelope from a node that sets no marks, with SECOND if another master is FIRST."""
        if envelope.to or not envelope.route or envelope.route[-1].stratum != TO_MASTER:
            return envelope
        masters = self._mapping.masters(envelope.keys[0], envelope)
        is_second = len(masters) > 1 and first_of(masters, self.takes) != self._context.me.name
        return envelope.marked(SECOND) if is_second else envelope


def tailed(entry: PendingForward) -> Envelope:
    """Return the envelope as it is stored while it waits.

    The `put` field holds the name of the FIRST master, if there is one; the entry then counts as sent to that
    master.
    """
    e = entry.envelope
    flags = e.flags | TAILED | (JOINT if entry.is_joint else 0)
    if not entry.first:
        return replace(e, flags=flags)
    entry.first_was_sent = True  # must be assumed after a crash
    return replace(e, flags=flags, put=(0, 0, entry.first))


def untailed(e: Envelope) -> tuple[Envelope, str]:
    """Return a restored envelope, and the name of its FIRST master, or "" if there is none."""
    return (replace(e, put=()), e.put[2]) if e.put and not e.to else (e, "")
