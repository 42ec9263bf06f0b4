"""Returns messages in transit that an expired one of their publisher precedes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mesh.errors import Expired
from mesh.hops import is_foreign
from mesh.kernel.context.node_context import NodeContext
from mesh.mapping.decision import CHANGING
from mesh.routing.forward_table import ForwardTable
from mesh.routing.origin import Origin
from mesh.routing.pending_forward import PendingForward
from mesh.routing.transit_holes import TransitHoles
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope
from mesh.wire.limits import DIRTY

# Law 1: the refusal of an expired message is sent before later messages are returned.
# Law 2: a message that may have reached its master is not returned.


class TransitReturns:
    """The holes that expired messages leave in streams of other nodes, and the return of later messages.

    `record(entry, hop, answer)` records an answer for an entry as final here.
    """

    def __init__(
        self,
        context: NodeContext,
        onward: ForwardTable,
        record: Callable[[PendingForward, str, Answer], None],
    ) -> None:
        self._context = context
        self._onward = onward
        self._record = record
        self._holes = TransitHoles()
        self._opened: dict[tuple[bytes, str], None] = {}  # streams with waiting messages to return

    def on_answer(self, entry: PendingForward, answer: Answer) -> None:
        """Open a hole if the answer says that a message of another node has expired."""
        if answer.state == Expired.code and not entry.is_kept and _may_return(entry.envelope, entry.askers):
            self._holes.open_hole(entry.key, answer.last)
            self._opened[entry.key] = None

    def return_waiting(self) -> None:
        """Return the unsent entries behind the holes that were opened since the last call."""
        while self._opened:
            key, _ = self._opened.popitem()
            after = self._holes.after(key) or 0
            for entry in self._onward.lane(key):
                if entry.envelope.last > after and not entry.was_sent:
                    self._return_entry(entry, after)

    def _return_entry(self, entry: PendingForward, after: int) -> None:
        if entry.is_kept or entry.was_divided or not _may_return(entry.envelope, entry.askers):
            return
        for hop in entry.hops:
            for first, last in [(max(first, after + 1), last) for first, last in entry.open if last > after]:
                if self._holes.must_return(entry.key, first, last, 0):
                    self._record(entry, hop, self._answer(entry.envelope, first, last))

    def returns_entry(self, entry: PendingForward) -> bool:
        """Return whether an entry that its next hop has returned goes back further."""
        return bool(self._holes) and not entry.is_kept and self._must_return(entry.envelope, entry.askers)

    def return_arrived(self, envelope: Envelope, origin: Origin) -> bool:
        """Return an arrived envelope to its origin if it has to go back; return whether it had."""
        if not self._holes or origin.is_local or not self._must_return(envelope, (origin,)):
            return False
        origin.answer(envelope.stream, self._answer(envelope, envelope.first, envelope.last))
        return True

    def _must_return(self, e: Envelope, askers: Iterable[Origin]) -> bool:
        may_return = _may_return(e, askers)
        return may_return and self._holes.must_return((e.stream, e.domain), e.first, e.last, e.low)

    def _answer(self, e: Envelope, first: int, last: int) -> Answer:
        text = f"an earlier message of the publisher has expired on {self._context.me.name}"
        return Answer(e.domain, first, last, CHANGING, 0, text)


def _may_return(envelope: Envelope, askers: Iterable[Origin]) -> bool:
    """Return whether the origins of an envelope for a master send it again if it is returned."""
    is_ours = not envelope.to and not is_foreign(envelope.sender)
    return is_ours and all(not asker.is_there() or DIRTY in asker.features() for asker in askers)
