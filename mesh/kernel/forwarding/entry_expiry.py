"""Expires the messages of waiting entries."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from mesh.errors import Expired
from mesh.hops import is_foreign
from mesh.kernel.context.node_context import NodeContext
from mesh.remote_names import WAY, is_site
from mesh.routing.forward_table import ForwardTable
from mesh.routing.pending_forward import PendingForward
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope
from mesh.wire.expiry import expiry

# Law 1: a message expires by its own time to live, or after `tailback_ttl`, whichever is first.
# Law 2: a message in flight does not expire, as it may have been accepted in time.
# Law 3: a message that another site keeps expires only by its own time to live, except a direct message.

NEVER = 2**62  # ns since 1970
RETRY = 1.0  # s until a retry
FEW_DUE = 1024  # size above which `_due` is compacted


class EntryExpiry:
    """The times at which entries of `onward` expire.

    `refuse(entry, hop, answer)` handles the final answer for expired messages.
    """

    def __init__(
        self,
        context: NodeContext,
        onward: ForwardTable,
        refuse: Callable[[PendingForward, str, Answer], None],
    ) -> None:
        self._context = context
        self._onward = onward
        self._refuse = refuse
        # (expiry, serial). The entry itself would stay in memory until it expires.
        self._due: list[tuple[int, int]] = []
        self._many_due = FEW_DUE

    def add(self, entry: PendingForward) -> None:
        """Schedule the expiry of an entry."""
        if len(self._due) >= self._many_due:
            self._due = [due for due in self._due if self._onward.entry(due[1])]
            heapq.heapify(self._due)
            self._many_due = max(FEW_DUE, 2 * len(self._due))
        heapq.heappush(self._due, (self._void_at(entry.envelope), entry.serial))
        self._context.clock.wake(
            self._context.clock.now + max(0, self._due[0][0] - self._context.clock.believed) / 1e9
        )

    def tick(self) -> None:
        """Refuse the messages that have expired."""
        while self._due and self._due[0][0] <= self._context.clock.believed:
            _, serial = heapq.heappop(self._due)
            if waiting := self._onward.entry(serial):
                self._expire(waiting)
        if self._due:
            self._context.clock.wake(
                self._context.clock.now + max(0, self._due[0][0] - self._context.clock.believed) / 1e9
            )

    def _void_at(self, envelope: Envelope) -> int:
        return min(self._expiry_of(envelope), envelope.expires or self._expiry_of(envelope))

    def _expiry_of(self, envelope: Envelope) -> int:
        """Return when the `tailback_ttl` of an envelope ends, in ns since 1970.

        A message that another site keeps has no such limit, unless it is a direct message: the result is
        NEVER.
        """
        if is_foreign(envelope.sender) and not envelope.to:
            return NEVER
        return envelope.route[-1].at + int(self._context.settings.tailback_ttl * 1e9)

    def _expire(self, entry: PendingForward) -> None:
        """Refuse the expired messages of an entry, except those in flight."""
        e, end = entry.envelope, self._expiry_of(entry.envelope)
        void_at = {n: min(expiry(e, i) or end, end) for i, n in enumerate(e.number_list(range(e.count)))}
        for hop in entry.hops:
            if self._onward.is_under_way(entry, hop):
                continue  # it may have been accepted there in time
            void = Ranges.of(number for number, at in void_at.items() if at <= self._context.clock.believed)
            for first, last in [part for run in entry.lacking[hop] for part in void.common(*run)]:
                self._give_up(entry, hop, first, last)
        if not entry.is_done:
            soon = self._context.clock.believed + int(RETRY * 1e9)
            again = min(at for number, at in void_at.items() if number in entry.open)
            heapq.heappush(self._due, (max(again, soon), entry.serial))

    def _give_up(self, entry: PendingForward, hop: str, first: int, last: int) -> None:
        me, settings = self._context.me.name, self._context.settings
        whom = f"the site {hop.removeprefix(WAY)}" if is_site(hop) else hop or "a master"
        is_limit = self._expiry_of(entry.envelope) <= self._context.clock.believed
        longer = f"To wait longer: raise `limits.tailback_ttl` of {me}, now {settings.tailback_ttl:g} s."
        error = Expired(
            f"The message expired on {me} while it waited for {whom}.", hint=longer if is_limit else ""
        )
        self._context.counters.add_count("expired", last - first + 1)
        self._refuse(entry, hop, Answer(entry.envelope.domain, first, last, error.code, 0, str(error)))
