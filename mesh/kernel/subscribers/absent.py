"""Limits the messages that wait at a node for disconnected clients."""

# Law: all inboxes together are limited in bytes, and therefore in number. A message beyond the limit is
#      refused if its client is disconnected, or has waiting messages. A client that reads its inbox still
#      receives messages.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from mesh.errors import PublishRefused, StoreFull
from mesh.hops import is_foreign
from mesh.kernel.context.node_context import NodeContext
from mesh.routing.inbox import Inbox
from mesh.routing.memory import OWN
from mesh.wire.envelope import PERSISTENT, Envelope

ABROAD = 10_000  # inboxes; with more, other sites can add none
INBOX = 4_096  # bytes of an empty inbox


class AbsentClients:
    """The budget for direct messages to disconnected clients."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context
        self._bytes = 0  # in all inboxes: last count, and additions
        self.is_full = False  # at the last count
        self.is_tight: Callable[[], bool] = lambda: False  # whether the disk is nearly full

    @property
    def bytes(self) -> int:
        """The bytes in all inboxes: the last count, plus later additions."""
        return self._bytes

    def looked(self, inboxes: Iterable[Inbox]) -> None:
        """Count the bytes in all inboxes, and set `is_full`."""
        self._bytes = sum(INBOX + inbox.accepted_bytes for inbox in inboxes)
        self.is_full = self._bytes >= self._context.settings.inboxes_bytes

    def reserve_space(self, to: str, envelope: Envelope, inboxes: Collection[str]) -> None:
        """Reserve space for a message that will wait for `to`; `inboxes` has the names of all inboxes.

        Raises: PublishRefused with INBOX_FULL, or StoreFull.
        """
        me, most, is_new = self._context.me.name, self._context.settings.inboxes_bytes, to not in inboxes
        if is_new and len(inboxes) >= ABROAD and is_foreign(envelope.sender):
            text = (
                f"{me} has {len(inboxes):,} inboxes; from {ABROAD:,} on, senders in other sites cannot "
                "create more."
            )
            hint = "Send to a connected client, or to one that already has an inbox."
            raise PublishRefused(text, hint=hint, code="INBOX_FULL")
        size = len(envelope.body) + OWN + is_new * INBOX
        if self._bytes + size > most:
            self._context.counters.loss_counter(to)(envelope, "INBOX_FULL", envelope.count)
            text = f"The inboxes at {me} have no room: they hold {self._bytes:,} of {most:,} bytes."
            hint = "Clients must read their inboxes; or raise `limits.inboxes_bytes` of that node."
            raise PublishRefused(text, hint=hint, code="INBOX_FULL")
        if envelope.flags & PERSISTENT and self.is_tight():
            text = f"The disk of {me} has too little space to keep messages for disconnected clients."
            raise StoreFull(
                text, hint="Free disk space at that node, or send when the receiver is connected."
            )
        self._bytes += size
