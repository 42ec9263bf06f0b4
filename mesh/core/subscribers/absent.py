"""How much may wait at a node for clients that are not connected, or that perhaps never were?"""

# Law: what waits in all inboxes together has a bound, in bytes and so in names. Beyond it what would wait is
#      refused: a message to a client that is not connected, or in whose inbox something waits already. A
#      client that reads its inbox gets what is sent to it all the same.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from mesh.core.desk.desk import Desk
from mesh.errors import PublishRefused, StoreFull
from mesh.routing.inbox import Inbox
from mesh.routing.memory import OWN
from mesh.sites.hops import is_foreign
from mesh.wire.envelope import PERSISTENT, Envelope

ABROAD = 10_000  # inboxes here, beyond which other sites make no new ones
INBOX = 4_096  # bytes that an inbox costs with nothing in it


class AbsentClients:
    """The room for letters to clients that are not connected."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._bytes = 0  # in all inboxes: at the last look, and what was taken since
        self.is_full = False  # at the last look
        self.is_tight: Callable[[], bool] = lambda: False  # has the node's disk little room?

    @property
    def bytes(self) -> int:
        """Bytes that wait in all inboxes, as far as is known."""
        return self._bytes

    def looked(self, inboxes: Iterable[Inbox]) -> None:
        """Count what waits now."""
        self._bytes = sum(INBOX + inbox.accepted_bytes for inbox in inboxes)
        self.is_full = self._bytes >= self._desk.settings.inboxes_bytes

    def check(self, to: str, envelope: Envelope, inboxes: Collection[str]) -> None:
        """Take note of a letter that is to wait for `to`; `inboxes`: those that are there, by their names.
        PublishRefused INBOX_FULL, StoreFull.
        """
        me, most, is_new = self._desk.me.name, self._desk.settings.inboxes_bytes, to not in inboxes
        if is_new and len(inboxes) >= ABROAD and is_foreign(envelope.sender):
            text = f"{me} has letters wait for {len(inboxes):,} names."
            raise PublishRefused(text, hint="Send to somebody who is connected.", code="INBOX_FULL")
        size = len(envelope.body) + OWN + is_new * INBOX
        if self._bytes + size > most:
            self._desk.losing(to)(envelope, "INBOX_FULL", envelope.count)
            text = f"{self._bytes:,} bytes wait at {me} for clients that are not connected."
            hint = "They have to read their inboxes; or raise limits.inboxes_bytes there."
            raise PublishRefused(text, hint=hint, code="INBOX_FULL")
        if envelope.flags & PERSISTENT and self.is_tight():
            text = f"the disk of {me} has little room, so nothing more waits there for who is not connected."
            raise StoreFull(text, hint="Make room there, or send when the receiver is connected.")
        self._bytes += size
