"""The messages of transactions that other nodes accept: they wait in the outbound buffer for the commit."""

# Law 1: the messages are stored in the commit of their transaction, and leave after it.
# Law 2: later messages of the publisher to the same node wait behind them, also during the commit.
# Law 3: earlier messages of the publisher to the same node are stored before them, so that they do not leave
#   first after a crash.
# Law 4: the numbers of a refused transaction are given up.
# Law 5: a prepared transaction reserves room in the outbound buffer, so its commit is not refused for lack
#   of room.

from __future__ import annotations

from mesh.errors import StaleSequence
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.envelope_check import EnvelopeCheck
from mesh.kernel.delivery.router import Router
from mesh.kernel.forwarding.copy_marker import tailed
from mesh.kernel.forwarding.dirty_reads import DirtyReads
from mesh.kernel.forwarding.forwarder import Forwarder
from mesh.kernel.forwarding.route_decisions import TO_MASTER
from mesh.mapping.decision import Decision, Kind
from mesh.mapping.mapping import Mapping
from mesh.operations import Op
from mesh.routing.forward_stages import Keeping
from mesh.routing.pending_forward import PendingForward, size_of
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import Envelope


class PlannedForwards:
    """The forwards of one transaction: `add_part`, `hold`, `store`, then `land` or `give_back`."""

    def __init__(self, owner: JointForwards, has_room: bool) -> None:
        self._owner = owner
        self._has_room = has_room
        self._planned: list[tuple[Envelope, Decision]] = []
        self._messages = self._bytes = 0
        self._entries: dict[PendingForward, int] = {}  # value: position in the node's own store; 0: transient

    def __bool__(self) -> bool:
        return bool(self._planned)

    @property
    def stores(self) -> set[str]:
        return {""} if any(e.persistent for e, _ in self._planned) else set()

    def add_part(self, envelope: Envelope, decision: Decision) -> str:
        """Plan a forward, without effect, and return the text of its warning. Raises: LocalError."""
        self._messages += envelope.count
        self._bytes += size_of(envelope)
        self._owner.check_envelope(envelope)
        if not self._has_room:
            self._owner.check_room(self._messages, self._bytes)
        self._planned.append((envelope, decision))
        return self._owner.warning(decision)

    def reserve(self, sign: int) -> None:
        """Reserve room for the forwards (`sign` +1), or release it (-1)."""
        self._owner.reserve(sign * self._messages, sign * self._bytes)

    def hold(self) -> None:
        """Add the entries to the outbound buffer."""
        for envelope, decision in self._planned:
            self._entries[self._owner.add_entry(envelope, decision)] = 0

    def hidden(self) -> list[tuple[bytes, bytes]]:
        """Return header and body of what `store` will store."""
        kept = [tailed(entry) for entry in self._entries if entry.envelope.persistent]
        return [(e.header(), e.body) for e in kept]

    def store(self) -> list[Op]:
        """Return the operations that store the entries, again after `forget_positions`.

        The caller joins their commit with the commits emitted meanwhile: see `Disk.together`.
        """
        ops = list[Op]()
        for entry in self._entries:
            if entry.envelope.persistent:
                op, self._entries[entry] = self._owner.store_entry(entry)
                ops.append(op)
        return ops

    def forget_positions(self) -> None:
        """Release the positions of entries whose commit has failed, and is repeated."""
        for entry, position in self._entries.items():
            self._owner.forget_position(position)
            self._entries[entry] = 0

    def land(self) -> None:
        """Let the entries leave, as they are stored."""
        for entry, position in self._entries.items():
            entry.change_keeping(Keeping.STORED if position else Keeping.KEPT_WARNED)
            entry.position = position
        for entry in self._entries:
            self._owner.release_entry(entry)
        self._entries.clear()

    def give_back(self) -> None:
        """Remove the entries, as the transaction is refused, and refuse their numbers for good."""
        for entry, position in self._entries.items():
            self._owner.refuse_entry(entry, position)
        self._entries.clear()


class JointForwards:
    """The part of the outbound buffer that belongs to transactions under way."""

    def __init__(
        self, context: NodeContext, router: Router, mapping: Mapping, forwarder: Forwarder, dirty: DirtyReads
    ) -> None:
        self._context, self._log, self._mapping = context, router.log, mapping
        self._forwarder, self._routing, self._dirty = forwarder, forwarder.routing, dirty
        self._check = EnvelopeCheck(context.me.name).check_envelope
        self.check_room, self.reserve = self._routing.tailback.check_room, self._routing.tailback.reserve

    # --- plan -------------------------------------------------------------------------------------------

    def begin(self, has_room: bool = False) -> PlannedForwards:
        """Return the forwards of a new transaction, without any yet.

        `has_room` means that room for them was reserved.
        """
        return PlannedForwards(self, has_room)

    def check_envelope(self, e: Envelope) -> None:
        """Check an envelope of a transaction. Raises: LocalError if the envelope would be refused."""
        self._check(e)
        known, _ = self._forwarder.onward.split_known(e)
        if known or self._forwarder.has_refused(e):
            what = f"{self._context.me.name} has already answered messages of the transaction."
            raise StaleSequence(what, hint="Begin the transaction again.")

    def warning(self, decision: Decision) -> str:
        hops = ", ".join(filter(None, decision.hops)) or "a master"
        return f"waits at {self._context.me.name} for {hops} ({decision.why})"

    # --- hold, then release or refuse -------------------------------------------------------------------

    def add_entry(self, envelope: Envelope, decision: Decision) -> PendingForward:
        """Add an entry that does not leave before `release_entry`."""
        onward = self._forwarder.onward
        if not envelope.to and self._mapping.has_dirty:
            self._dirty.pass_over(envelope)
        hop = self._context.hop(TO_MASTER if decision.to_master else 0)
        envelope = envelope.passed(hop, self._context.clock.stamp())
        entry = onward.add(envelope, self._forwarder.local, self._context.clock.now)
        entry.is_joint = True
        entry.change_keeping(Keeping.COMMITTING)
        hops = decision.copies if decision.kind is Kind.HERE else decision.hops
        onward.set_next_hops(entry, hops or ("",), decision.why)
        return entry

    def store_entry(self, entry: PendingForward) -> tuple[Op, int]:
        """Return the operation that stores an entry, and its position; earlier entries are stored, too."""
        self._routing.tailback.warn_before(entry)
        stored = StoredEnvelope(tailed(entry), own=True)
        return self._log.shelf.append_envelope(stored), stored.position

    def release_entry(self, entry: PendingForward) -> None:
        """Decide the route of a committed entry again, and send it on."""
        routing, envelope = self._routing, entry.envelope
        self._context.counters.add_count("forward_warnings", entry.messages)
        routing.tailback.watch(entry)
        decision = routing.deciding.decide(envelope)
        routing.rulings.file(entry, routing.deciding.question(envelope), decision)
        routing.apply_decision(entry, decision)

    def refuse_entry(self, entry: PendingForward, position: int) -> None:
        """Remove an entry that is not committed; those behind it may leave."""
        e, hops = entry.envelope, entry.hops
        self._forwarder.onward.remove_entry(entry)
        self._context.counters.add_count("refused", e.count)
        self._log.give_up(e, e.first, e.last, self._context.clock.now)
        self.forget_position(position)
        for hop in hops:
            self._forwarder.shipping.schedule_send(hop)

    def forget_position(self, position: int) -> None:
        if position:
            self._log.shelf.drop_position(position)
