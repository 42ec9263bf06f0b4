"""The addresses whose last client has left this node because the node is drained.

Their requests wait for HOLD seconds: meanwhile the client registers at its next node. Then they are refused,
so that the nodes of the requesters choose that node.
"""

from __future__ import annotations

from math import inf

from mesh.features.services.model.work import ServedAddress
from mesh.kernel.context.node_context import NodeContext
from mesh.names import is_group

HOLD = 1.0  # s


class DepartedAddresses:
    """The addresses without a consumer that are still announced, with the time at which that ends."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context
        self._until: dict[ServedAddress, float] = {}

    def __contains__(self, address: ServedAddress | None) -> bool:
        return address in self._until

    def add_address(self, address: ServedAddress) -> bool:
        """Keep an address that has lost its last consumer; return False if it must be withdrawn now."""
        if not self._context.leaving.is_quiet or is_group(address.name) or address in self._until:
            return False
        until = self._until[address] = self._context.clock.now + HOLD
        self._context.clock.wake(until)
        return True

    def take_back(self, address: ServedAddress) -> None:
        """Forget an address that is served again."""
        self._until.pop(address, None)

    def take_due(self) -> list[ServedAddress]:
        """Remove and return the addresses whose time is over: all of them if the drain was canceled."""
        if not self._until:  # as a rule
            return []
        now = self._context.clock.now if self._context.leaving.is_quiet else inf
        due = [address for address, until in self._until.items() if until <= now]
        for address in due:
            del self._until[address]
        return due
