"""Planted bugs in durable subscriptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.kernel.delivery import durable_bindings, receivers
from mesh.kernel.delivery.router import Router
from mesh.wire.envelope import ERASED, LOCAL_ONLY, SECOND

Patch = tuple[Any, str, Any]


def bound_as_clients_are() -> list[Patch]:
    """Bind a message at nodes that receive it for their clients, in addition to its master."""
    init = Router.__init__

    def binds(self: Any, *args: Any) -> None:
        init(self, *args)
        relay = self.relay
        self.relay = lambda stored, *select: keeps(self, relay, stored, *select)

    def keeps(self: Any, relay: Any, stored: Any, *select: Any) -> None:
        relay(stored, *select)
        if stored.envelope.to or stored.envelope.flags & (ERASED | LOCAL_ONLY):
            return
        with patch.object(
            QueuedEnvelope, "may_have_been_given", lambda self, runs: setattr(self, "moves", 1)
        ):
            self.bindings.redeliver(stored.envelope, lambda answer: None)

    return [(Router, "__init__", binds)]


def every_master_binds() -> list[Patch]:
    allowed = durable_bindings.NOT_FOR_THEM & ~SECOND
    return [(receivers, "NOT_FOR_THEM", allowed)]


# Seed, broken law and patches by the name of the bug.
DURABLES: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "whoever has readers keeps what is for durable subscriptions": (6, "Q4", bound_as_clients_are),
    "each of several masters keeps it": (0, "Q4", every_master_binds),
}
