"""Accepts envelopes at this node, as their master or as one of several."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from mesh.hops import is_foreign
from mesh.kernel.context.node_clock import is_followed
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.durable_bindings import Answered
from mesh.kernel.delivery.router import Router
from mesh.kernel.forwarding.refusal_memory import RefusalMemory
from mesh.mapping.mapping import Mapping
from mesh.routing.origin import Origin
from mesh.wire.commands import Answer
from mesh.wire.envelope import HELD, Envelope

# Law 1: several masters give a message the same timestamp, and so do all sites.
# Law 2: a backup master that accepts a message names the unreachable masters in its answer.
# Law 3: an envelope that a backup master may accept as well is recorded only once it is accepted here.


class LocalMaster:
    """This node as a master: accepts the envelopes whose routes end here."""

    def __init__(
        self, context: NodeContext, router: Router, mapping: Mapping, refused: RefusalMemory
    ) -> None:
        self._context = context
        self._router = router
        self._mapping = mapping
        self._answer = refused.answer_origin

    def accept_envelope(
        self, envelope: Envelope, origin: Origin, stamp: int = 0, stands_for: Sequence[str] = ()
    ) -> None:
        """Accept an envelope, and answer its origin.

        `stamp` is the timestamp that several masters share; 0 means a new one. `stands_for` has the
        unreachable masters for which this node is the backup.
        """

        def answered(answer: Answer) -> None:
            self._answer(origin, envelope, answer)

        then = self._as_backup(envelope, stands_for, answered) if self._mapping.has_backups else answered
        holder = None
        if envelope.flags & HELD:
            holder, envelope = origin.link(), envelope.without(HELD)
        self._router.publish_here(origin.pace(envelope.stream), envelope, then, stamp, holder)

    def accept_copy(self, e: Envelope, origin: Origin, answered: Answered) -> None:
        """Accept an envelope as one of its several masters, and pass the answers to `answered`."""
        self._router.publish_here(origin.pace(e.stream), e, answered, self.shared_stamp(e))

    def take_over(self, e: Envelope, origin: Origin, stands_for: Sequence[str], answered: Answered) -> None:
        """Accept an envelope that waited for other nodes, as its only master."""
        then = self._as_backup(e, stands_for, answered)
        stamp = self.shared_stamp(e) if is_foreign(e.sender) else 0
        self._router.publish_here(origin.pace(e.stream), e, then, stamp)

    def _as_backup(self, envelope: Envelope, stands_for: Sequence[str], say: Answered) -> Answered:
        """Return the handler of answers for an envelope that this node accepts, perhaps as a backup."""
        if envelope.to:
            return say
        note = (
            f"at {self._context.me.name}, because {', '.join(stands_for)} cannot be reached"
            if stands_for
            else ""
        )

        def answered(answer: Answer) -> None:
            if answer.state == "OK":
                self._router.had(envelope)
                answer = replace(answer, text=note or answer.text)
            say(answer)

        return answered

    def shared_stamp(self, envelope: Envelope) -> int:
        """Return the timestamp of the publishing node, or 0 if it is too far ahead.

        Several masters must agree on the latest value, even if messages reach them in different orders.
        A timestamp of another site is always kept, as all sites must agree.
        """
        if is_followed(envelope.sent, self._context.clock.wall):
            self._context.clock.heard_stamp(envelope.sent)
            return envelope.sent
        return envelope.sent if is_foreign(envelope.sender) else 0
