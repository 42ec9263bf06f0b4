"""The features that the connected node lacks, and the errors of calls and messages that need them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mesh.client.core.node_connection import NodeConnection
from mesh.errors import NotAvailable
from mesh.names import OTHERS, PUTS, SENDS
from mesh.wire.envelope import ONE_SESSION, Envelope
from mesh.wire.limits import DIRECT, LETTERS, QUEUES, QUIET, SERVICES, TRANSACTIONS

TO_ONE = "delivery to one session of a client"

# For each feature: its name in errors, and whether an envelope needs it.
NEEDED: dict[str, tuple[str, Callable[[Envelope], bool]]] = {
    SERVICES: ("addresses", lambda e: e.domain == SENDS),
    QUEUES: ("queues", lambda e: e.domain.startswith(PUTS)),
    LETTERS: ("other sites", lambda e: e.to.startswith(OTHERS)),
    DIRECT: (TO_ONE, lambda e: e.flags & ONE_SESSION > 0),
}


class NodeFeatures:
    """Checks for the features of the connected node. Without a connection, each check passes.

    Each check raises NotAvailable if the release of the node lacks the feature.
    """

    def __init__(self, line: NodeConnection) -> None:
        self._line = line

    def lacks(self, feature: str) -> bool:
        return feature not in self._line.words

    def unsupported_envelopes(self, envelopes: Iterable[Envelope]) -> list[tuple[Envelope, NotAvailable]]:
        """Return the envelopes that need a feature which the node lacks, with the error of each."""
        lacking = [needed for feature, needed in NEEDED.items() if self.lacks(feature)]
        if not lacking:
            return []
        found = ((e, next((what for what, needs in lacking if needs(e)), "")) for e in envelopes)
        return [(e, unsupported(what)) for e, what in found if what]

    def check_services(self) -> None:
        self._require(SERVICES, "addresses")

    def check_queues(self) -> None:
        self._require(QUEUES, "queues")

    def check_transactions(self) -> None:
        self._require(TRANSACTIONS, "transactions")

    def check_quiet(self) -> None:
        """Check that the node can erase without an event."""
        self._require(QUIET, "erasures without an event")

    def check_sites(self, to: str) -> None:
        """Check that the node supports sites, if `to` is in another one."""
        if to.startswith(OTHERS):
            self._require(LETTERS, "other sites")

    def check_direct(self, what: str = TO_ONE) -> None:
        """Check that the node has the feature DIRECT, which `what` needs."""
        self._require(DIRECT, what)

    def _require(self, feature: str, what: str) -> None:
        if self._line.is_up and self.lacks(feature):
            raise unsupported(what)


def unsupported(what: str) -> NotAvailable:
    """Return the error of a call that the node does not support."""
    hint = "Upgrade the node and this client to the same release."
    return NotAvailable(f"The node runs an earlier release, which does not support {what}.", hint=hint)
