"""Counters of a node since its start."""

# Law: counters only grow. A name of COUNTERS that was never counted is reported as 0.

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mesh.kernel.context.accounts import Accounts
from mesh.kernel.context.node_clock import NodeClock
from mesh.kernel.context.tally import Tally
from mesh.reasons.undelivered import Undelivered
from mesh.wire.envelope import Envelope

if TYPE_CHECKING:
    from mesh.routing.feed import Feed
    from mesh.routing.feed_state import Lost

COUNTERS = (
    "published", "refused", "repeated", "unrouted", "relayed", "malformed", "not_open", "hello_refused",
    "wrong_cookie", "too_many_hops", "connections", "forwarded", "forward_warnings", "expired", "dead",
    "forged", "unasked", "unknown_commands", "unknown_kinds", "not_understood", "malformed_gossip", "adverts",
    "forged_visits", "visits", "resumed_messages", "collected_messages", "refilled_messages",
    "adverts_rejected", "slow_consumers", "met_itself", "late_replies", "settled_late", "group_dropped",
    "durable_lost", "durable_dropped", "node_full", "node_busy", "confirmed", "confirmed_bytes",
)  # fmt: skip


class NodeCounters:
    """The counters of a node: the named counters, and the counts by client, by node and by receiver."""

    def __init__(self, clock: NodeClock) -> None:
        self.values: dict[str, int] = {}
        self.accounts = Accounts()
        self.tally = Tally()
        self.undelivered = Undelivered()
        self._clock = clock

    def add_count(self, what: str, n: int = 1) -> None:
        self.values[what] = self.values.get(what, 0) + n

    def loss_counter(self, who: str) -> Lost:
        """Return a function that counts messages that do not reach this receiver."""

        def lost(envelope: Envelope, why: str, n: int) -> None:
            self.undelivered.add(who, envelope.keys, envelope.domain, why, n, self._clock.now)

        return lost

    def figures(self, feeds: Sequence[Feed]) -> dict[str, int | float]:
        """Return the metrics of these counters, including the counts of `feeds`."""
        return {
            **{name: self.values.get(name, 0) for name in COUNTERS},
            **self.accounts.figures(feeds),
            "undelivered": self.undelivered.total,
            **{f"balance_{what}": self.tally.total(what) for what in ("chosen", "asked", "answered")},
        }
